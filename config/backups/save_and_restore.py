"""A backup is one file, checked before it gets its name, and a folder of chats' files beside it (`stored_files.py`). A restore
is prepared beside the present store, under a new incarnation, and replaces it in one step; the previous store is kept."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from config.backups import BackupError, Engine, postgresql, sqlite, stored_files
from config.backups.post_restore import begin_incarnation
from memory_app.core.lease import end_all_leases
from sessions_app.core.storage.durable_files import sync_to_disk
from sessions_app.models import Store


@dataclass(frozen=True, slots=True)
class Restored:
    """`former`: the name under which the previous store is kept; empty: it is not. `missing`: files without their content."""

    incarnation: int
    former: str
    missing: int


def save(to: Path | None = None) -> Path:
    """Writes a backup to this file, or to one named by the time. Writers continue meanwhile."""
    engine = _engine()
    if not _has_our_tables():
        raise BackupError(f"There is no store in {_where()} yet. Is STILLHERE_DATA_DIR or STILLHERE_DATABASE_URL the server's?")
    target = to or _folder() / f"stillhere-{_stamp()}{engine.ENDING}"
    part = target.with_name(f"{target.name}.part")
    try:
        # Created before it is filled, so that nobody else can ever read it.
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        stored_files.save(target)
        engine.dump(part)
        stored_files.save(target)
        sync_to_disk(part)
        part.replace(target)
        sync_to_disk(target.parent)
    except OSError as error:
        raise BackupError(f"Cannot write {target}: {error.strerror}.") from None
    finally:
        part.unlink(missing_ok=True)
        if not target.exists():
            stored_files.discard(target)
    return target


def restore(file: Path, *, discard: bool = False) -> Restored:
    """Replaces the store by the backup; no server may be running. `discard`: do not keep the previous store."""
    engine = _engine()
    database = str(settings.DATABASES["default"]["NAME"])
    ready, former = engine.beside(database, _stamp())
    above = _incarnation_that_stands()
    connection.close()
    engine.check_alone(database)
    engine.drop(ready)
    try:
        engine.unpack(file, ready)
        with _connected_to(ready):
            number = _renew(file, above)
            stored_files.restore(file)
            missing = stored_files.missing()
        engine.swap(database, ready, former)
    except OSError as error:
        raise BackupError(f"{file} cannot be put in the store's place: {error.strerror}.") from None
    finally:
        engine.drop(ready)
    if discard:
        engine.drop(former)
    return Restored(number, "" if discard else former, missing)


def _renew(file: Path, above: int) -> int:
    """Migrates the tables to this version and sets new numbers."""
    try:
        applied = set(MigrationRecorder(connection).applied_migrations())
        if not _ours(applied):
            raise BackupError(f"{file} is no backup of Stillhere.")
        if newer := sorted(applied - set(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)):
            raise BackupError(f"A newer version made {file} (it has {'.'.join(newer[-1])}). Restore it with that one.")
        call_command("migrate", interactive=False, verbosity=0)
        number = begin_incarnation(above=above)
        end_all_leases()
    except DatabaseError as error:
        raise BackupError(f"{file} cannot be used: {' '.join(str(error).split())}.") from None
    return number


def _ours(applied: Iterable[tuple[str, str]]) -> bool:
    return any(app == "sessions_app" for app, _ in applied)


def _has_our_tables() -> bool:
    return _ours(MigrationRecorder(connection).applied_migrations())


def _where() -> str:
    name = settings.DATABASES["default"]["NAME"]
    return str(name) if connection.vendor == "sqlite" else f"the database {name}"


def _incarnation_that_stands() -> int:
    try:
        store = Store.objects.first()
    except DatabaseError:
        return 0  # There is no store yet, or it cannot be read: the usual reason for a restore.
    return 0 if store is None else store.incarnation


@contextmanager
def _connected_to(name: str) -> Iterator[None]:
    """Points this process's connection to another database within the block."""
    usual = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = usual


def _engine() -> Engine:
    return sqlite if connection.vendor == "sqlite" else postgresql


def _folder() -> Path:
    folder = Path(settings.DATA_DIR) / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")[:18]
