"""How a key ends: what is done to it, by the name of the case."""

from collections.abc import Callable
from datetime import timedelta

from django.utils.timezone import now

from sessions_app.models import ApiKey


def _disable_user(key: ApiKey) -> None:
    key.user.is_active = False
    key.user.save(update_fields=["is_active"])


def _update(key: ApiKey, field: str, age: timedelta) -> None:
    setattr(key, field, now() - age)
    key.save(update_fields=[field])


ENDINGS: dict[str, Callable[[ApiKey], None]] = {
    "revoked": lambda key: _update(key, "revoked_at", timedelta()),
    "expired": lambda key: _update(key, "expires_at", timedelta(seconds=1)),
    "disabled user": _disable_user,
}
