"""Backup of the whole store while it serves, and restore: `save_and_restore.py`. The other modules have what differs between
databases."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol


class BackupError(Exception):
    """Its message says what to do."""


class Engine(Protocol):
    """The interface of the database modules. Databases are named: by file on SQLite, by database name on PostgreSQL."""

    ENDING: str
    BEGINS: bytes

    def dump(self, file: Path) -> None:
        """Writes a snapshot of the store into a file."""

    def reserved(self, database: str) -> AbstractContextManager[None]:
        """Raises BackupError if another restore is at work, or the server of an embedded store."""

    def check_alone(self, database: str) -> None:
        """Raises BackupError if another connection is open."""

    def beside(self, database: str, stamp: str) -> tuple[str, str]:
        """Returns names for the prepared database and for the previous one."""

    def unpack(self, file: Path, name: str) -> None:
        """Creates a database of this name with the backup's content."""

    def swap(self, database: str, ready: str, former: str) -> None:
        """Renames `database` to `former`, then `ready` to `database`."""

    def drop(self, name: str) -> None:
        """Deletes the database of this name, if it exists."""
