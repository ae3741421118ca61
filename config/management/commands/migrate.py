import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.core.management.commands import migrate
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

_LOCK = 0x5712
_AGAIN_SECONDS = 0.2


class Command(migrate.Command):
    """Django's own command, one at a time. Servers that start together would create the same table, and so would one after a
    killed one: PostgreSQL completes the killed one's last statement."""

    def handle(self, *args: Any, **options: Any) -> None:
        with _alone(connections[options["database"]], self.stderr.write):
            super().handle(*args, **options)


@contextmanager
def _alone(connection: BaseDatabaseWrapper, say: Callable[[str], object] | None) -> Iterator[None]:
    """An embedded store has one server, and nothing of it continues when it is killed."""
    if connection.vendor != "postgresql":
        yield
        return
    while not _locked(connection):
        if say is not None:
            say("Another process is migrating this database; waiting for it.")
            say = None
        time.sleep(_AGAIN_SECONDS)
    try:
        yield
    finally:
        # A broken connection has released the lock already; report the error that broke it.
        with suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def _locked(connection: BaseDatabaseWrapper) -> bool:
    """Polls for the lock: a waiting statement would block a concurrent index build."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        return bool(cursor.fetchone()[0])
