"""Checks of the settings beyond Django's own; `serve` and `run` report them when they start."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connection

from config import sqlite

UNSAFE = ("'unsafe-inline'", "'unsafe-eval'")


@register(Tags.security)
def content_security_policy(**options: Any) -> list[CheckMessage]:
    """Checks that a policy is set and allows no inline script or style, which stored text could contain."""
    policy: dict[str, list[str]] = settings.SECURE_CSP  # type: ignore[assignment]
    if not policy:
        return [Error("SECURE_CSP is empty: pages would run whatever script gets into them.", id="stillhere.E001")]
    unsafe = {name: [source for source in sources if source in UNSAFE] for name, sources in policy.items()}
    found = [f"{name} {source}" for name, sources in unsafe.items() for source in sources]
    return [Error(f"SECURE_CSP must not have {what}.", id="stillhere.E002") for what in found]


@register(Tags.compatibility)
def sqlite_version(**options: Any) -> list[CheckMessage]:
    """Warns if the wheel is missing and the system's library can damage the database."""
    present = sqlite.version()
    if connection.vendor != "sqlite" or present >= sqlite.FIRST_SOUND_VERSION:
        return []
    sound = ".".join(map(str, sqlite.FIRST_SOUND_VERSION))
    said = f"SQLite {'.'.join(map(str, present))} can damage its write-ahead log under several connections."
    hint = f"Install the wheel `pysqlite3`, or a SQLite of {sound} or newer, or use PostgreSQL (STILLHERE_DATABASE_URL)."
    return [Warning(said, hint=hint, id="stillhere.W001")]
