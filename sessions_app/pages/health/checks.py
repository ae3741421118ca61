"""Health checks for monitoring; they never report an address or a password."""

from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from sessions_app.core.errors import InsufficientStorage, Unavailable
from sessions_app.core.storage.database_errors import StoreNotReady, StoreReadOnly, leave_read_only
from sessions_app.core.storage.durable_files import FULL
from sessions_app.core.storage.sql import on_postgresql

REDIS_SECONDS = 1
# In the namespace of the channel layer, to which a user of Redis may be limited. It is gone after a minute.
PROBE_KEY, PROBE_KEY_SECONDS = "asgi:stillhere.ready", 60
# What a save takes of the disk, more or less.
PROBE_BYTES = 65_536
_SYNCHRONOUS = ("OFF", "NORMAL", "FULL", "EXTRA")


class ChannelLayerUnreachable(Unavailable):
    code = "channel_layer_unreachable"
    message = "Redis does not answer. Saves still work; events reach other processes later, by the log, until it does."


class ChannelLayerRefusesAccess(Unavailable):
    code = "channel_layer_refuses_access"
    message = (
        "Redis answers, but not to the user and password of `STILLHERE_REDIS_URL`. Saves still work; events reach other "
        "processes later, by the log, until it does."
    )


class ChannelLayerRefusesWrites(Unavailable):
    code = "channel_layer_refuses_writes"
    message = (
        "Redis answers, but takes no writes: its memory or disk is full, it is a replica, or this user may not write. Saves "
        "still work; events reach other processes later, by the log, until it does."
    )


def durability() -> dict[str, str] | None:
    """The durability settings that the database reports; None while it does not answer."""
    sqlite = not on_postgresql()
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous" if sqlite else "SHOW synchronous_commit")
            level = cursor.fetchone()[0]
            if not sqlite:
                return {"synchronous_commit": level}
            cursor.execute("SELECT sqlite_version()")
            return {"synchronous": _SYNCHRONOUS[level], "sqlite_version": cursor.fetchone()[0]}
    except DatabaseError:
        return None


def check_ready() -> None:
    """Raises the database's error, StoreNotReady, StoreReadOnly, InsufficientStorage, or a ChannelLayer error."""
    if _migrations() - set(MigrationRecorder(connection).applied_migrations()):
        raise StoreNotReady(retry_after=2)
    if on_postgresql():
        _expect_writer()
    else:
        _write_beside(Path(str(connection.settings_dict["NAME"])))
    if settings.REDIS_URL:
        _write_to_redis()


def _expect_writer() -> None:
    """A standby, or a primary that was set to read-only, answers reads."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        is_read_only = cursor.fetchone()[0] == "on"
    if is_read_only:
        refusal = StoreReadOnly(retry_after=2)
        leave_read_only(refusal)
        raise refusal


def _write_beside(database: Path) -> None:
    """A disk that is full or read-only still answers reads. A file without a name, so that no save waits for the probe."""
    try:
        with TemporaryFile(dir=database.parent) as file:
            file.write(bytes(PROBE_BYTES))
    except OSError as error:
        raise (InsufficientStorage() if error.errno in FULL else StoreReadOnly(retry_after=2)) from None


@lru_cache
def _migrations() -> set[tuple[str, str]]:
    return set(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)


def _write_to_redis() -> None:
    """A Redis that is full answers a ping, and takes no event."""
    import redis  # Costs 24 MB: imported only where Redis is configured.

    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS)
    try:
        client.set(PROBE_KEY, 1, ex=PROBE_KEY_SECONDS)
    except redis.ResponseError:
        raise ChannelLayerRefusesWrites(retry_after=2) from None
    except redis.AuthenticationError:
        raise ChannelLayerRefusesAccess(retry_after=2) from None
    except redis.RedisError:
        raise ChannelLayerUnreachable(retry_after=2) from None
    finally:
        client.close()
