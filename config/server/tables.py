"""The store's tables as this version needs them, when a server starts."""

from collections.abc import Iterable
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from config.server.signals import run_manage
from sessions_app.core.storage.database_errors import is_damage

# What the command `migrate` says when it has to wait.
WAITING = "Another process is migrating this database; waiting for it."
NOTHING_KEPT = "nothing of it was kept"
_ERROR = "CommandError: "


def bring_up_to_date(lock: int) -> None:
    """Raises ImproperlyConfigured where that fails, or where the store is of a newer version. The child keeps `lock`."""
    try:
        executor = MigrationExecutor(connection)
        _refuse_newer(executor.loader)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            _migrate_apart(lock, executor.loader.applied_migrations)
        else:
            # A killed start may have left out what follows the last migration, such as permissions.
            call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as error:
        if is_damage(error):
            raise
        raise ImproperlyConfigured(f"The database cannot be used: {str(error).strip().splitlines()[0]}") from None
    connection.close()


def unknown_migrations(applied: Iterable[tuple[str, str]], loader: MigrationLoader) -> list[tuple[str, str]]:
    """Apps and names of what was applied and is not in this version."""
    return sorted(set(applied) - set(loader.disk_migrations))


def _refuse_newer(loader: MigrationLoader) -> None:
    """This version would write rows that the newer one cannot use, or fail at them later."""
    # Of a package or of an own noun, an operator may have taken the app away.
    base = Path(settings.BASE_DIR)
    ours = {app.label for app in apps.get_app_configs() if (base / app.name.partition(".")[0]).is_dir()}
    if newer := [found for found in unknown_migrations(loader.applied_migrations, loader) if found[0] in ours]:
        raise ImproperlyConfigured(
            f"A newer version made this store (it has {' '.join(newer[-1])}). "
            "Start that version, or restore a backup from before."
        )


def _migrate_apart(lock: int, before: Iterable[tuple[str, str]]) -> None:
    # In a process of its own: the models between all migrations take 170 MB, which this one would keep while it serves.
    why = run_manage("migrate", "--no-input", "--verbosity", "0", lock=lock, aloud=WAITING)
    if not why:
        return
    said = why.removeprefix(_ERROR) if why.startswith(_ERROR) else f"The tables cannot be brought up to date: {why}"
    raise ImproperlyConfigured(said + _what_stays(why, before))


def _what_stays(why: str, before: Iterable[tuple[str, str]]) -> str:
    try:
        made = MigrationRecorder(connection).applied_migrations().keys() - set(before)
    except DatabaseError:
        return ""
    if made:
        return " The migrations before it stay: start again when the cause is gone, or restore a backup from before."
    return " The store is as it was before." if NOTHING_KEPT in why else ""
