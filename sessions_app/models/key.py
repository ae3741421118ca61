"""Who may call: API keys, one-time sign-in links, one-time socket tickets. Each is stored as a hash, never as itself."""

import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db import models
from django.utils import timezone

from sessions_app.models.sql import now

READ, WRITE = "read", "write"
SCOPES = (READ, WRITE)
# Ten years.
MOST_DAYS = 3650


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever is asking: a person, or a key that acts for one. Services and queries take it first."""

    user_id: int
    username: str
    key_id: uuid.UUID | None = None
    key_name: str = ""
    scopes: frozenset[str] = frozenset(SCOPES)
    project_id: uuid.UUID | None = None


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def visible_to(self, caller: Caller) -> "ApiKeyQuerySet":
        return self.filter(user_id=caller.user_id)

    def usable(self) -> "ApiKeyQuerySet":
        unexpired = models.Q(expires_at=None) | models.Q(expires_at__gt=timezone.now())
        return self.filter(unexpired, revoked_at=None, user__is_active=True)


class ApiKey(models.Model):
    """A bearer key: SHA-256 of it, and its first 8 characters for people to tell keys apart."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100, blank=True)
    prefix = models.CharField(max_length=8, editable=False)
    key_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.CharField(max_length=20, default="read,write", help_text="Comma-separated: read, write.")
    project = models.ForeignKey("sessions_app.Project", null=True, blank=True, on_delete=models.CASCADE, related_name="api_keys")
    created_at = models.DateTimeField(default=now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        ordering = ("-created_at", "id")

    def __str__(self) -> str:
        return f"{self.name or 'key'} ({self.prefix}…)"

    @property
    def scope_list(self) -> list[str]:
        return [scope for scope in self.scopes.split(",") if scope]


class SignInLink(models.Model):
    """Signs its user in once; made on the command line by whoever runs the server."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sign_in_links")
    token_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(default=now, editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"sign-in link of {self.user_id}"


class SocketTicket(models.Model):
    """Opens one socket for a caller that cannot send headers; lives 30 seconds."""

    token_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.ForeignKey(ApiKey, null=True, on_delete=models.CASCADE, related_name="+")
    # Of the login that asked for it, which the socket does not outlive; empty for a key's.
    session_key = models.CharField(max_length=40, default="", editable=False)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"socket ticket of {self.user_id}"
