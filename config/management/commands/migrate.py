import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.core.management.commands import migrate
from django.db import DatabaseError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

_LOCK = 0x5712
_AGAIN_SECONDS = 0.2


class WholeMigrations(MigrationExecutor):
    """Commits each migration together with its record. Django records one that leaves statements for its end (foreign keys,
    indexes) after the commit: if the process is killed in between, the next one creates the same tables again, and fails."""

    def apply_migration(self, state: Any, migration: Any, *args: Any, **options: Any) -> Any:
        if not migration.atomic:
            return super().apply_migration(state, migration, *args, **options)
        # On SQLite these checks can only be switched off outside of a transaction. Each migration ends with one of its own.
        with self.connection.constraint_checks_disabled(), transaction.atomic(using=self.connection.alias):
            return super().apply_migration(state, migration, *args, **options)


migrate.MigrationExecutor = WholeMigrations  # type: ignore[attr-defined]


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
