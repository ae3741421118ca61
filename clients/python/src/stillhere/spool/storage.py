"""The file of a spool: one row for each request. It holds texts, and no key."""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from stillhere.http.forks import renew_in_forks

DAMAGED = (
    "The spool file {path} is damaged ({reason}). Nothing was removed from it. Move it away, with {path}-journal if that exists, "
    "so that a new one begins. `sqlite3 {path} .recover` shows what it still holds: requests in it may not have been sent."
)
WAIT_SECONDS, STRANDED_SECONDS = 30.0, 60.0
_TABLE = """
CREATE TABLE IF NOT EXISTS requests (
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
# Of files of earlier versions.
_ADDED = "ALTER TABLE requests ADD COLUMN base_rev INTEGER NOT NULL DEFAULT 0"


class Item(NamedTuple):
    """A request to a session, named by its id or by an external id. `epoch`: None until it is sent for the first time; from then
    on the request is the same each time. `number`: 0 if it is not in the file."""

    number: int
    session: str | None
    external_id: str | None
    opening: str
    writer_id: str
    seq: int
    epoch: int | None
    ops: str
    base_rev: int


class Refused(NamedTuple):
    """A request that the server did not do, or not completely. `ops`: what it had; of a damaged row `[{"damaged": …}]`. `error`:
    `{status, code, message, details}`. With the status 200 `details` lists what was not done, and the rest is stored:
    `rejected` as in `Saved`, and what others had changed before (if it is only that, the code is `conflict`): `conflicts`
    (`{id, copy_id}`, of an append with `length`; with a `copy_id` the session keeps the text as a copy), `spared`, which a
    truncate left, and `removed`, which no save restores. The status 0: it cannot be sent."""

    number: int
    session: str | None
    external_id: str | None
    ops: list[dict[str, Any]]
    error: dict[str, Any]


class SpoolError(Exception):
    """Neither the disk nor the server took a save: it is not stored. `__cause__`: why the server did not."""


class DamagedSpool(SpoolError, sqlite3.DatabaseError):
    """The file of a spool cannot be read, so nothing can be saved behind what waits in it. The message says what to do."""


class Storage:
    """`scope`: the server and project whose requests these are; others may share the file. Raises sqlite3.Error if the disk takes
    nothing, of these DamagedSpool if the file cannot be read."""

    def __init__(self, path: str | os.PathLike[str], scope: str) -> None:
        self._scope = scope
        self.path = Path(path).expanduser().absolute()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = _opened(self.path)
        self._of_parents: list[object] = []
        renew_in_forks(self, self._lock)

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _opened(self.path)
        return self._connection

    def renew(self) -> None:
        """In a forked process: the file is opened when it is used. SQLite forbids to use or close the parent's connection."""
        self._of_parents.append(self._connection)
        self._connection = None

    def add(self, items: list[Item]) -> None:
        """All of them or none. They are on the disk when this returns."""
        with self._lock, _naming(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for item in items:
                    self._db.execute(
                        "INSERT INTO requests (scope, session, external_id, opening, writer_id, seq, epoch, ops,"
                        " base_rev, made_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        (self._scope, *item[1:], time.time()),
                    )
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def next_after(self, number: int, but: Collection[str] = ()) -> Item | None:
        """`but`: ids of sessions, of both kinds, whose requests are passed over."""
        sql = "SELECT number, session, external_id, opening, writer_id, seq, epoch, ops, base_rev FROM requests"
        sql += f" WHERE scope = ? AND refused IS NULL AND number > ?{_without(but)} ORDER BY number LIMIT 1"
        row = self._one(sql, (self._scope, number, *but, *but))
        return None if row is None else Item(*row)

    def count_after(self, number: int) -> int:
        row = self._one("SELECT count(*) FROM requests WHERE scope = ? AND refused IS NULL AND number > ?", (self._scope, number))
        return 0 if row is None else int(row[0])

    def last_after(
        self, number: int, external_id: str | None = None, last: int | None = None, but: Collection[str] = ()
    ) -> int | None:
        """The number of the newest request that waits behind this one; with `external_id` of that session, with `last` up to that
        number. None: none does."""
        sql = "SELECT max(number) FROM requests WHERE scope = ? AND refused IS NULL AND number > ?"
        sql += f" AND number <= ifnull(?, number) AND ? IN ('', external_id){_without(but)}"
        row = self._one(sql, (self._scope, number, last, external_id or "", *but, *but))
        return None if row is None else row[0]

    def stranded(self) -> dict[str, int]:
        """How many requests of each other scope wait for so long that no spool seems to send them."""
        sql = "SELECT scope, count(*) FROM requests WHERE scope != ? AND refused IS NULL AND made_at < ? GROUP BY scope"
        with self._lock, _naming(self.path):
            return dict(self._db.execute(sql, (self._scope, time.time() - STRANDED_SECONDS)).fetchall())

    def freeze(self, number: int, session: str, epoch: int) -> None:
        self._write("UPDATE requests SET session = ?, epoch = ? WHERE number = ?", (session, epoch, number))

    def forget_up_to(self, number: int) -> None:
        """What was acknowledged."""
        self._write("DELETE FROM requests WHERE scope = ? AND refused IS NULL AND number <= ?", (self._scope, number))

    def remove(self, number: int) -> None:
        self._write("DELETE FROM requests WHERE number = ?", (number,))

    def refuse(self, number: int, error: dict[str, Any]) -> None:
        self._write("UPDATE requests SET refused = ? WHERE number = ?", (json.dumps(error), number))

    def refused(self) -> list[Refused]:
        sql = "SELECT number, session, external_id, ops, refused FROM requests"
        sql += " WHERE scope = ? AND refused IS NOT NULL ORDER BY number"
        with self._lock, _naming(self.path):
            rows = self._db.execute(sql, (self._scope,)).fetchall()
        return [
            Refused(number, session, external_id, _shown(ops), json.loads(error))
            for number, session, external_id, ops, error in rows
        ]

    def discard(self, number: int) -> None:
        """A refused one."""
        self._write("DELETE FROM requests WHERE number = ? AND refused IS NOT NULL", (number,))

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _write(self, sql: str, values: tuple[Any, ...]) -> None:
        with self._lock, _naming(self.path):
            self._db.execute(sql, values)

    def _one(self, sql: str, values: tuple[Any, ...]) -> Any:
        with self._lock, _naming(self.path):
            return self._db.execute(sql, values).fetchone()


def ops_in(text: object) -> list[dict[str, Any]]:
    """Those of a row. Raises ValueError if it is damaged, and RecursionError."""
    if not isinstance(text, str):
        raise ValueError("the row is damaged.")
    text.encode()  # What was no UTF-8 cannot be written as it.
    ops = json.loads(text)
    if not isinstance(ops, list) or not all(isinstance(op, dict) for op in ops):
        raise ValueError("the row is damaged.")
    return ops


def _shown(text: object) -> list[dict[str, Any]]:
    try:
        return ops_in(text)
    except (ValueError, RecursionError):
        return [{"damaged": text}]


def _without(sessions: Collection[str]) -> str:
    each = ", ".join("?" * len(sessions))
    return f" AND ifnull(session, '') NOT IN ({each}) AND ifnull(external_id, '') NOT IN ({each})" if sessions else ""


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Raises DamagedSpool, which names the file, in place of SQLite's error."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if isinstance(error, DamagedSpool) or not any(words in str(error) for words in ("not a database", "malformed")):
            raise
        raise DamagedSpool(DAMAGED.format(path=path, reason=error)) from error


def _opened(path: Path) -> sqlite3.Connection:
    _make_private(path)
    opened = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    opened.text_factory = lambda content: content.decode(errors="surrogateescape")  # One damaged row leaves the others readable.
    try:
        with _naming(path):
            # Not WAL, which SQLite up to 3.51.2 may damage if several connections write.
            for setting in ("journal_mode = TRUNCATE", "synchronous = FULL", "secure_delete = ON"):
                opened.execute(f"PRAGMA {setting}").fetchall()
            opened.execute(_TABLE)
            _add_column(opened)
    except BaseException:
        opened.close()
        raise
    return opened


def _add_column(opened: sqlite3.Connection) -> None:
    if any(name == "base_rev" for _, name, *_ in opened.execute("PRAGMA table_info(requests)")):
        return
    try:
        opened.execute(_ADDED)
    except sqlite3.OperationalError as error:
        if "duplicate column" not in str(error):  # Another process was faster.
            raise


def _make_private(path: Path) -> None:
    """An empty file for its owner alone, if there is none: SQLite gives the files beside it the same mode."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
