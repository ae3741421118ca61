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
    """Django's own, one at a time. Servers that start together would make the same table, and so would one that follows a
    killed one: PostgreSQL ends what that one had asked for last."""

    def handle(self, *args: Any, **options: Any) -> None:
        with _alone(connections[options["database"]], self.stderr.write):
            super().handle(*args, **options)


@contextmanager
def _alone(connection: BaseDatabaseWrapper, say: Callable[[str], object] | None) -> Iterator[None]:
    """An embedded store has one server, and nothing of it goes on when it is killed."""
    if connection.vendor != "postgresql":
        yield
        return
    while not _locked(connection):
        if say is not None:
            say("Another process brings this database's tables up to date; waiting for it.")
            say = None
        time.sleep(_AGAIN_SECONDS)
    try:
        yield
    finally:
        # A connection that broke has let go of it already; what broke it is what is to be told.
        with suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def _locked(connection: BaseDatabaseWrapper) -> bool:
    """Asked for again and again: a statement that waits would keep an index from being made beside it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
        return bool(cursor.fetchone()[0])
