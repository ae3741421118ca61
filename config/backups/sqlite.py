"""The embedded database: SQLite's online backup, which copies one moment while others write."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from config.backups import BackupError
from config.server.file_locks import locked, store_lock
from sessions_app.core.storage.durable_files import sync_to_disk

ENDING, BEGINS = ".sqlite3", b"SQLite format 3\0"
# How long to wait for others to close the file.
PATIENCE_SECONDS = 2
# What SQLite keeps beside a database's file.
BESIDE = ("-wal", "-shm", "-journal")


def dump(file: Path) -> None:
    with _opened(Path(str(settings.DATABASES["default"]["NAME"]))) as source:
        _copy(source, file)


def unpack(file: Path, name: str) -> None:
    """Writes a checked copy of the backup beside the store. `name` is its path."""
    with _opened(file) as source:
        # SQLite would read zeros for the missing end of a last page, and find nothing wrong.
        if file.stat().st_size % source.execute("PRAGMA page_size").fetchone()[0]:
            raise BackupError(f"{file} is not complete: its last page ends early.")
        _copy(source, Path(name), of=file)


def beside(database: str, stamp: str) -> tuple[str, str]:
    return f"{database}.restoring", f"{database}.before-{stamp}"


@contextmanager
def reserved(database: str) -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(locked(store_lock(database)))
        except BlockingIOError:
            raise BackupError("The server, or another restore, is using this database. Stop it, then restore.") from None
        yield


def check_alone(database: str) -> None:
    """Any other connection keeps the write-ahead log; without one it can be merged into the file.

    A store that is too damaged for that is the usual reason for a restore: it passes.
    """
    if not Path(database).exists():
        return
    with _opened(Path(database)) as connection:
        try:
            connection.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                return
            raise BackupError("Another process is using this database. Stop it, then restore.") from None
        except sqlite3.DatabaseError:
            return


def swap(database: str, ready: str, former: str) -> None:
    check_alone(database)
    sync_to_disk(Path(ready))
    if Path(database).exists():
        # A second link, so that the database's own name always has a file.
        Path(former).hardlink_to(database)
    for ending in BESIDE:
        # Of a damaged store. SQLite would apply it to the restored one.
        if Path(database + ending).exists():
            Path(database + ending).replace(former + ending)
    Path(ready).replace(database)
    sync_to_disk(Path(database).parent)


def drop(name: str) -> None:
    for ending in ("", *BESIDE):
        Path(name + ending).unlink(missing_ok=True)


def _copy(source: Any, file: Path, of: Path | None = None) -> None:
    """One step, so one read transaction: writers continue, and their later commits are not in it.

    `of`: the file to name in an error, if the caller did not choose `file`.
    """
    with _opened(file, must_exist=False, of=of) as target:
        target.execute("PRAGMA synchronous=OFF")
        source.backup(target)
    # Opened again: the copied pages say that the database has a write-ahead log; this file must work alone.
    with _opened(file, of=of) as target:
        target.execute("PRAGMA journal_mode=DELETE")
        for check in ("integrity_check", "foreign_key_check"):
            found = [row for row in target.execute(f"PRAGMA {check}").fetchmany(5) if row != ("ok",)]
            if found:
                raise BackupError(f"{check} of {of or 'the copy'} says: {found}. The {'backup' if of else 'store'} is damaged.")


@contextmanager
def _opened(file: Path, *, must_exist: bool = True, of: Path | None = None) -> Iterator[Any]:
    if must_exist and not file.is_file():
        raise BackupError(f"There is no {file}.")
    try:
        connection = sqlite3.connect(file, timeout=PATIENCE_SECONDS, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        named = f"{file}" if of is None else f"{of} cannot be put in the store's place"
        raise BackupError(f"{named}: {error}.") from None
