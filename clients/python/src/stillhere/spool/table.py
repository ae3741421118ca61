"""The table of a spool: how its file is opened.

It is called `waiting`. Programs of an earlier version, which know no log, write to `requests`: to them that is a view, so that a
save of theirs goes to the server at once, as on a full disk, and takes no number that a line of the log has.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stillhere.spool.append_log import make_private
from stillhere.spool.items import DamagedSpool

DAMAGED = (
    "The spool file {path} is damaged ({reason}). Nothing was removed from it. Move it away, with {path}-journal if that exists, "
    "so that a new one begins. `sqlite3 {path} .recover` shows what it still holds: requests in it may not have been sent."
)
WAIT_SECONDS = 30.0
_TABLE = """
CREATE TABLE IF NOT EXISTS waiting (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    session TEXT,
    external_id TEXT,
    opening TEXT NOT NULL,
    writer_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER,
    ops TEXT NOT NULL,
    made_at REAL NOT NULL,
    refused TEXT,
    base_rev INTEGER NOT NULL DEFAULT 0
)
"""
_VIEW = "CREATE VIEW requests AS SELECT * FROM waiting"
_FORMER = "ALTER TABLE requests RENAME TO waiting"
_ADDED = "ALTER TABLE waiting ADD COLUMN base_rev INTEGER NOT NULL DEFAULT 0"


@contextmanager
def naming_damage(path: Path) -> Iterator[None]:
    """Raises DamagedSpool, which names the file, in place of SQLite's error, and that in place of the system's."""
    try:
        yield
    except OSError as error:
        raise sqlite3.OperationalError(str(error)) from error
    except sqlite3.DatabaseError as error:
        if isinstance(error, DamagedSpool) or not any(words in str(error) for words in ("not a database", "malformed")):
            raise
        raise DamagedSpool(DAMAGED.format(path=path, reason=error)) from error


def opened(path: Path) -> sqlite3.Connection:
    """In autocommit mode, without a timeout. Raises sqlite3.Error."""
    make_private(path)
    connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    # One damaged row leaves the others readable.
    connection.text_factory = lambda content: content.decode(errors="surrogateescape")
    try:
        with naming_damage(path):
            # Not WAL, which SQLite up to 3.51.2 may damage if several connections write.
            for setting in ("journal_mode = TRUNCATE", "synchronous = FULL", "secure_delete = ON"):
                connection.execute(f"PRAGMA {setting}").fetchall()
            if _kind_of_requests(connection) != "view":
                _prepare(connection)
            connection.execute("PRAGMA busy_timeout = 0")
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        former = _kind_of_requests(connection)
        if former == "table":
            connection.execute(_FORMER)
            if all(name != "base_rev" for _, name, *_ in connection.execute("PRAGMA table_info(waiting)")):
                connection.execute(_ADDED)
        connection.execute(_TABLE)
        if former != "view":  # Another process was faster.
            connection.execute(_VIEW)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _kind_of_requests(connection: sqlite3.Connection) -> str | None:
    row = connection.execute("SELECT type FROM sqlite_master WHERE name = 'requests'").fetchone()
    return None if row is None else str(row[0])
