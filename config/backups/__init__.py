"""Backups of the whole store while it serves, and the way back: `store.py`; what differs between databases beside it."""

from pathlib import Path
from typing import Protocol


class BackupError(Exception):
    """Says what to do."""


class Engine(Protocol):
    """What differs, as modules. Databases go by name: on SQLite the file's, on PostgreSQL the database's."""

    ENDING: str

    def dump(self, file: Path) -> None:
        """The store as of one moment, into a file."""

    def check_alone(self, database: str) -> None:
        """Raises BackupError while anybody else is connected."""

    def beside(self, database: str, stamp: str) -> tuple[str, str]:
        """Names for what is made ready, and for what stood there."""

    def unpack(self, file: Path, name: str) -> None:
        """A new database of this name, with what the backup holds."""

    def swap(self, database: str, ready: str, former: str) -> None:
        """`ready` takes the name `database`, and what had it is `former` from now on."""

    def drop(self, name: str) -> None:
        """A database, if there is one of this name."""
