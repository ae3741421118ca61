import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from sessions_app.core.extension import KeyClient, extensions
from sessions_app.core.text import sha256
from sessions_app.models import ApiKey, Caller, Login

# Session keys that a sign-in stores.
DETAILS = "signed_in"
MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class LoginRow:
    """One place where the caller is signed in. `id` is the stored hash: nobody can sign in with it."""

    id: str
    since: datetime
    browser: str
    address: str
    is_this: bool


def list_logins(*, caller: Caller, this: str) -> list[LoginRow]:
    """The caller's logins, newest first. `this`: the id of the current login."""
    alive = Login.objects.filter(user_id=caller.user_id, expire_date__gt=timezone.now()).order_by("-expire_date")
    return [_row(login, login.get_decoded(), this) for login in alive[:MOST_LISTED]]


def _row(login: Login, content: dict[str, Any], this: str) -> LoginRow:
    details = content.get(DETAILS, {})
    begun = login.expire_date - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    since = datetime.fromisoformat(details["at"]) if "at" in details else begun
    return LoginRow(login.session_key, since, details.get("browser", ""), details.get("address", ""), login.session_key == this)


def list_keys(*, caller: Caller) -> list[ApiKey]:
    """The caller's keys that are not revoked, newest first."""
    return list(ApiKey.objects.visible_to(caller).filter(revoked_at=None).select_related("project"))


def find_key(*, caller: Caller, secret: str) -> ApiKey | None:
    """The caller's key with this secret, if it is not revoked."""
    own = ApiKey.objects.visible_to(caller).filter(revoked_at=None)
    return own.filter(key_sha256=sha256(secret)).select_related("project").first()


def list_keys_with_clients(*, caller: Caller) -> list[ApiKey]:
    """The same; `client` of each is the one that was last seen with it (a KeyClient), or None."""
    keys = list_keys(caller=caller)
    clients: dict[uuid.UUID, KeyClient] = {}
    for extension in extensions():
        if extension.key_clients is not None:
            clients |= extension.key_clients([key.id for key in keys])
    for key in keys:
        key.client = clients.get(key.id)  # type: ignore[attr-defined]
    return keys
