import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DatabaseError, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from config.server.file_locks import locked
from config.server.tables import NOTHING_KEPT, WAITING
from sessions_app.core.storage.database_errors import is_damage

_LOCK = 0x5712
_AGAIN_SECONDS = 0.2


class WholeMigrations(MigrationExecutor):
    """Commits each migration together with its record. Django records one that leaves statements for its end (foreign keys,
    indexes) after the commit: if the process is killed in between, the next one creates the same tables again, and fails."""

    def apply_migration(self, state: Any, migration: Any, *args: Any, **options: Any) -> Any:
        try:
            return self._apply(state, migration, *args, **options)
        except Exception as error:
            raise CommandError(f"The migration {migration} failed{self._what_stays(migration)}: {_line_of(error)}.") from error

    def _apply(self, state: Any, migration: Any, *args: Any, **options: Any) -> Any:
        if not migration.atomic:
            return super().apply_migration(state, migration, *args, **options)
        # On SQLite these checks can only be switched off outside of a transaction. Each migration ends with one of its own.
        with self.connection.constraint_checks_disabled(), transaction.atomic(using=self.connection.alias):
            return super().apply_migration(state, migration, *args, **options)

    def _what_stays(self, migration: Any) -> str:
        if not migration.atomic:
            return ", and a part of it may stay"
        try:
            applied = MigrationRecorder(self.connection).applied_migrations()
        except DatabaseError:
            return ""  # A connection that broke at the commit does not tell whether that was done.
        return "" if (migration.app_label, migration.name) in applied else f", and {NOTHING_KEPT}"


migrate.MigrationExecutor = WholeMigrations  # type: ignore[attr-defined]


class Command(migrate.Command):
    """Django's own command, one at a time. Servers that start together would create the same table, and so would one after a
    killed one: PostgreSQL completes the killed one's last statement."""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with _alone(connections[options["database"]], self.stderr.write):
                super().handle(*args, **options)
        except DatabaseError as error:
            # What `manage.py` says of these is right here too. Of others it would say to run this command.
            if isinstance(error, OperationalError) or is_damage(error):
                raise
            raise CommandError(f"The tables cannot be brought up to date: {_line_of(error)}.") from error


def _line_of(error: Exception) -> str:
    """Databases say what is wrong in the first line. What follows can quote a row, or points at a part of the statement."""
    line = next(iter(str(error).strip().splitlines()), "").rstrip(".:")
    return line if line and isinstance(error, DatabaseError) else f"{type(error).__name__}: {line}".removesuffix(": ")


@contextmanager
def _alone(connection: BaseDatabaseWrapper, say: Callable[[str], object] | None) -> Iterator[None]:
    """An embedded store has one server, but each agent at standard input migrates it too, and several may start together."""
    if connection.vendor != "postgresql":
        with locked(Path(settings.DATA_DIR) / "migrating.lock", patience_seconds=math.inf, notice=WAITING if say else ""):
            yield
        return
    while not _locked(connection):
        if say is not None:
            say(WAITING)
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
