"""Credentials: API keys, one-time sign-in links, one-time socket tickets, flush tokens, logins of pages. Only hashes
are stored."""

import uuid
from dataclasses import dataclass

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone

from sessions_app.models.times import now

READ, WRITE = "read", "write"
SCOPES = (READ, WRITE)
# Ten years.
MOST_DAYS = 3650
KEY_NAME_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated caller: a user, or a key that acts for one. The first argument of services and queries."""

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
    name = models.CharField(max_length=KEY_NAME_LENGTH, blank=True)
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
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def scope_list(self) -> list[str]:
        return [scope for scope in self.scopes.split(",") if scope]


class SignInLink(models.Model):
    """Signs its user in once; created on the command line by the server's operator."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sign_in_links")
    token_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    # Mark of the user's password at creation; a link does not outlive that password. Empty: created before marks existed.
    password_mark = models.CharField(max_length=64, default="", editable=False)
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
    # Hash of the login that requested it, which the socket does not outlive; empty for a key's.
    session_key = models.CharField(max_length=40, default="", editable=False)
    # Mark of the password that this login knew.
    password_mark = models.CharField(max_length=64, null=True, editable=False)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"socket ticket of {self.user_id}"


class FlushToken(models.Model):
    """Lets a page write to one session on unload, for at most a day; it cannot read."""

    token_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.ForeignKey("sessions_app.ApiKey", null=True, on_delete=models.CASCADE, related_name="+")
    # As a socket ticket's; null for a key's, and for tokens that are older than these columns.
    session_key = models.CharField(max_length=40, null=True, editable=False)
    password_mark = models.CharField(max_length=64, null=True, editable=False)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"flush token of {self.session_id}"


class Login(AbstractBaseSession):
    """A login of pages: Django's session. `session_key` is a hash: a reader of the database or a backup cannot sign in with it.
    `user`: none before a sign-in."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="logins")

    class Meta(AbstractBaseSession.Meta):
        abstract = False
        verbose_name = "login"
        verbose_name_plural = "logins"

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        """For decoding only: `login_store.SessionStore` reads and writes these rows."""
        return SessionStore
