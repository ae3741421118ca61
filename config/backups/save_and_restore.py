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
from django.core.management.base import CommandError
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from config.backups import BackupError, Engine, postgresql, sqlite, stored_files
from config.backups.post_restore import begin_incarnation
from config.server.file_locks import locked
from config.server.tables import unknown_migrations
from memory_app.core.lease import end_all_leases
from sessions_app.core.storage.durable_files import sync_to_disk
from sessions_app.models import Store

GZIP = b"\x1f\x8b"
# Names of backups that are named by the time, and of all that are not complete.
PREFIX, PART = "stillhere-", ".part"


@dataclass(frozen=True, slots=True)
class Restored:
    """`former`: the name under which the previous store is kept; empty: it is not. `missing`: files that are not whole."""

    incarnation: int
    former: str
    missing: int


def save(to: Path | None = None) -> Path:
    """Writes a backup to this file, or to one named by the time. Writers continue meanwhile."""
    engine = _engine()
    if not _has_our_tables():
        raise BackupError(f"There is no store in {_where()} yet. Is STILLHERE_DATA_DIR or STILLHERE_DATABASE_URL the server's?")
    try:
        with _only_one():
            return _save(engine, to or _folder() / f"{PREFIX}{_stamp()}{engine.ENDING}")
    except BlockingIOError:
        raise BackupError(f"Another backup of {settings.DATA_DIR} is being made. Wait for its end, then repeat.") from None


@contextmanager
def _only_one() -> Iterator[None]:
    """A disk that the system has mounted read-only, because it fails, takes no lock: from there a backup goes elsewhere."""
    if os.statvfs(settings.DATA_DIR).f_flag & os.ST_RDONLY:
        yield
        return
    with locked(Path(settings.DATA_DIR) / "backup.lock"):
        yield


def _save(engine: Engine, target: Path) -> Path:
    part, older = _part_of(target), False
    if not target.parent.is_dir():
        raise BackupError(f"Cannot write {target}: there is no folder {target.parent}.")
    try:
        # What a killed backup left: nobody writes it, because only one backup is made at a time.
        for left in (part, *_usual_folder().glob(f"{PREFIX}*{PART}")):
            if left.exists() and os.access(left.parent, os.W_OK):
                _discard(left)
        older = stored_files.folder_of(target).exists()
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
    except BackupError as error:
        # A full disk, as SQLite or pg_dump say it: by the name of a file that nobody asked for, and that is taken away now.
        raise BackupError(str(error).replace(str(part), str(target))) from None
    finally:
        _discard(part, files=not older)
    return target


def _part_of(target: Path) -> Path:
    """Where a backup is until it is complete."""
    return target.with_name(target.name + PART)


def _discard(part: Path, *, files: bool = True) -> None:
    """An incomplete backup. Its part goes last, so that the next backup goes on where this is interrupted. `files`: false if the
    folder of files is of an older backup, whose own file is elsewhere now."""
    target = part.with_name(part.name.removesuffix(PART))
    if files and not target.exists():
        stored_files.discard(target)
    sqlite.drop(str(part))  # On PostgreSQL too: the file, and what SQLite may have put beside it.


def restore(file: Path, *, discard: bool = False) -> Restored:
    """Replaces the store by the backup; no server may be running. `discard`: do not keep the previous store."""
    engine = _engine()
    database = str(settings.DATABASES["default"]["NAME"])
    with engine.reserved(database):
        return _restore(engine, database, file, discard=discard)


def _restore(engine: Engine, database: str, file: Path, *, discard: bool) -> Restored:
    _check_format(file, engine)
    ready, former = engine.beside(database, _stamp())
    above = _incarnation_that_stands()
    connection.close()
    engine.check_alone(database)
    engine.drop(ready)
    swapped = False
    try:
        engine.unpack(file, ready)
        with _connected_to(ready):
            number = _renew(file, above)
            if not discard:
                stored_files.keep(former)
            missing = stored_files.restore(file)
        engine.swap(database, ready, former)
        swapped = True
    except OSError as error:
        raise BackupError(f"{file} cannot be put in the store's place: {error.strerror}.") from None
    finally:
        engine.drop(ready)
        if not swapped:
            stored_files.discard_former(former)
    if discard:
        engine.drop(former)
    return Restored(number, "" if discard else former, missing)


def _check_format(file: Path, engine: Engine) -> None:
    """Before the databases' own words for it, which a file of another kind makes misleading."""
    if not file.is_file():
        raise BackupError(f"{file} is a folder. Name the file." if file.is_dir() else f"There is no {file}.")
    try:
        with file.open("rb") as opened:
            begins = opened.read(16)
    except OSError as error:
        raise BackupError(f"Cannot read {file}: {error.strerror}.") from None
    if begins.startswith(engine.BEGINS):
        return
    if begins.startswith((sqlite.BEGINS, postgresql.BEGINS)):
        of, this = ("SQLite", "PostgreSQL") if engine is postgresql else ("PostgreSQL", "SQLite")
        raise BackupError(
            f"{file} is a backup of {of}, and this store is on {this}. Set STILLHERE_DATABASE_URL as it was for the backup. "
            "From one database to the other go `manage.py export` and `import`."
        )
    raise BackupError(f"{file} is compressed. Unpack it first." if begins[:2] == GZIP else f"{file} is no backup of Stillhere.")


def _renew(file: Path, above: int) -> int:
    """Migrates the tables to this version and sets new numbers."""
    try:
        applied = set(MigrationRecorder(connection).applied_migrations())
        if not _ours(applied):
            raise BackupError(f"{file} is no backup of Stillhere.")
        if newer := unknown_migrations(applied, MigrationLoader(None, ignore_no_migrations=True)):
            raise BackupError(f"A newer version made {file} (it has {'.'.join(newer[-1])}). Restore it with that one.")
        call_command("migrate", interactive=False, verbosity=0)
        number = begin_incarnation(above=above)
        end_all_leases()
    except DatabaseError as error:
        raise BackupError(f"{file} cannot be used: {' '.join(str(error).split())}.") from None
    except CommandError as error:
        raise BackupError(f"{file} cannot be used. {error}") from None
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
    folder = _usual_folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _usual_folder() -> Path:
    return Path(settings.DATA_DIR) / "backups"


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")[:18]
