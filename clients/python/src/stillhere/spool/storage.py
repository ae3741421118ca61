"""The files of a spool: a table of requests, and before it a log of the newest ones. They hold texts, and no key.

A request is first a line of the log, because that is one write of the disk, and most leave it once the server has acknowledged
them. What has to stay moves to the table: what is refused, a long log, what is left at the end. The numbers of both rise
together. Of the log only lines count whose number is above the table's last, so a move is done wholly or not at all.
"""

import json
import os
import random
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stillhere.http.forks import renew_in_forks
from stillhere.spool.append_log import AppendLog, Entry
from stillhere.spool.items import DamagedSpool, Item, Refused, shown_ops
from stillhere.spool.table import WAIT_SECONDS, naming_damage, opened

STRANDED_SECONDS = 60.0
# A longer log moves to the table: of this, only the next request is in the memory.
LONGEST_LOG = 262_144
MOST_AT_ONCE = 20
_COLUMNS = "number, session, external_id, opening, writer_id, seq, epoch, ops, base_rev"
_READ = f"SELECT {_COLUMNS} FROM waiting WHERE scope = ? AND refused IS NULL"  # noqa: S608 - our own names
_ADD = f"INSERT INTO waiting ({_COLUMNS}, scope, made_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608


class Storage:
    """`scope`: the server and project whose requests these are; others may share the file. Raises sqlite3.Error if the disk takes
    nothing, of these DamagedSpool if a file cannot be read."""

    def __init__(self, path: str | os.PathLike[str], scope: str) -> None:
        self._scope = scope
        self.path = Path(path).expanduser().resolve()  # As SQLite does: by all its names it has one log.
        self._log = AppendLog(self.path.with_name(f"{self.path.name}-log"))
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._of_parents: list[object] = []
        renew_in_forks(self, self._lock)
        self._take_over()

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = opened(self.path)
        return self._connection

    def renew(self) -> None:
        """In a forked process: files are opened when they are used. SQLite forbids to use or close the parent's connection."""
        self._of_parents.append(self._connection)
        self._connection = None
        self._log.close()

    def add(self, items: Sequence[Item]) -> None:
        """All of them or none. They are on the disk when this returns."""
        with self._lock, naming_damage(self.path), self._transaction():
            self._read_log()
            numbered = [item._replace(number=number) for number, item in enumerate(items, self._log.last + 1)]
            self._log.append([Entry(self._scope, time.time(), item) for item in numbered])

    def next_after(self, number: int, but: Collection[str] = ()) -> list[Item]:
        """The next one in the table, or else some of the log: to look there again for each one would hold up who saves. `but`:
        ids of sessions, of both kinds, whose requests are passed over."""
        if self._log.size > LONGEST_LOG:
            self._move_if_there_is_room()
        recent = self._recent(number, but)
        sql = f"{_READ} AND number > ?{_without(but)} ORDER BY number LIMIT 1"
        row = self._one(sql, (self._scope, number, *but, *but))
        return recent[:MOST_AT_ONCE] if row is None else [Item(*row)]

    def count_after(self, number: int) -> int:
        recent = self._recent(number)
        row = self._one("SELECT count(*) FROM waiting WHERE scope = ? AND refused IS NULL AND number > ?", (self._scope, number))
        return len(recent) + int(row[0])

    def last_after(
        self, number: int, external_id: str | None = None, last: int | None = None, but: Collection[str] = ()
    ) -> int | None:
        """The number of the newest request that waits behind this one; with `external_id` of that session, with `last` up to that
        number. None: none does."""
        for item in reversed(self._recent(number, but)):
            if (last is None or item.number <= last) and external_id in {None, item.external_id}:
                return item.number
        sql = "SELECT max(number) FROM waiting WHERE scope = ? AND refused IS NULL AND number > ?"
        sql += f" AND number <= ifnull(?, number) AND ? IN ('', external_id){_without(but)}"
        row = self._one(sql, (self._scope, number, last, external_id or "", *but, *but))
        found: int | None = row[0]
        return found

    def stranded(self) -> dict[str, int]:
        """How many requests of each other scope wait for so long that no spool seems to send them."""
        sql = "SELECT scope, count(*) FROM waiting WHERE scope != ? AND refused IS NULL AND made_at < ? GROUP BY scope"
        with self._lock, naming_damage(self.path):
            return dict(self._patiently(sql, (self._scope, time.time() - STRANDED_SECONDS)).fetchall())

    def other_scopes(self) -> list[str]:
        """In the table, whose requests wait or were refused."""
        with self._lock, naming_damage(self.path):
            return [row[0] for row in self._patiently("SELECT DISTINCT scope FROM waiting WHERE scope != ?", (self._scope,))]

    def adopt(self, scope: str) -> None:
        """Makes what is of another scope this one's, behind what waits here: of numbers that were given away another process may
        know that all below them is acknowledged. If this process is killed meanwhile, some are there twice, and sent twice,
        which changes nothing. Raises ValueError for a damaged row."""
        self._move("UPDATE waiting SET scope = ? WHERE scope = ? AND refused IS NOT NULL", (self._scope, scope))
        sql = f"{_READ} ORDER BY number LIMIT {MOST_AT_ONCE}"
        while True:
            with self._lock, naming_damage(self.path):
                items = [Item(*row) for row in self._patiently(sql, (scope,)).fetchall()]
            if not items:
                return
            self.add(items)
            self._move("DELETE FROM waiting WHERE scope = ? AND refused IS NULL AND number <= ?", (scope, items[-1].number))

    def freeze(self, number: int, session: str, epoch: int) -> None:
        self._move("UPDATE waiting SET session = ?, epoch = ? WHERE number = ?", (session, epoch, number))

    def forget_up_to(self, number: int) -> None:
        """What was acknowledged."""
        sql = "DELETE FROM waiting WHERE scope = ? AND refused IS NULL AND number <= ?"
        self._move(sql, (self._scope, number), acknowledged=number)

    def remove(self, number: int) -> None:
        self._move("DELETE FROM waiting WHERE number = ?", (number,))

    def refuse(self, number: int, error: dict[str, Any]) -> None:
        self._move("UPDATE waiting SET refused = ? WHERE number = ?", (json.dumps(error), number))

    def refused(self) -> list[Refused]:
        sql = "SELECT number, session, external_id, ops, refused FROM waiting"
        sql += " WHERE scope = ? AND refused IS NOT NULL ORDER BY number"
        with self._lock, naming_damage(self.path):
            rows = self._patiently(sql, (self._scope,)).fetchall()
        return [
            Refused(number, session, external_id, shown_ops(ops), json.loads(error))
            for number, session, external_id, ops, error in rows
        ]

    def discard(self, number: int) -> None:
        """A refused one."""
        self._move("DELETE FROM waiting WHERE number = ? AND refused IS NOT NULL", (number,))

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._log.close()

    def _take_over(self) -> None:
        """What was left by a process that was killed."""
        try:
            self._move_if_there_is_room()
        except BaseException:
            self.close()
            raise

    def _move_if_there_is_room(self) -> None:
        """Raises DamagedSpool."""
        try:
            self._move()
        except DamagedSpool:
            raise
        except sqlite3.Error:  # The disk is full: then it stays in the log.
            pass

    def _recent(self, number: int, but: Collection[str] = ()) -> list[Item]:
        """What waits in the log behind this number. To be asked before the table: what is moved meanwhile is then found there."""
        with self._lock, naming_damage(self.path):
            above = max(number, self._last_in_table())
            if not self._log.is_as_read():
                with self._transaction():
                    self._read_log()
            items = [entry.item for entry in self._log.entries if entry.scope == self._scope]
        return [item for item in items if item.number > above and not (item.session in but or item.external_id in but)]

    def _move(self, then: str = "", values: tuple[Any, ...] = (), *, acknowledged: int = 0) -> None:
        """Moves the log to the table, except requests of this scope up to the number `acknowledged`. `then`: a change of the
        table that is done with it."""
        with self._lock, naming_damage(self.path):
            with self._transaction():
                left = self._left(acknowledged)
                if not left:  # First: on a full disk it makes room.
                    self._empty_log()
                for scope, made_at, item in left:
                    self._patiently(_ADD, (*item, scope, made_at))
                if then:
                    self._patiently(then, values)
            if left:
                with self._transaction():
                    if not self._left(acknowledged):  # Another process may have added something.
                        self._empty_log()

    def _left(self, acknowledged: int) -> list[Entry]:
        """What is in the log alone, and not acknowledged."""
        self._read_log()
        last = self._last_in_table()
        entries = [entry for entry in self._log.entries if entry.item.number > last]
        return [entry for entry in entries if entry.scope != self._scope or entry.item.number > acknowledged]

    def _empty_log(self) -> None:
        if self._log.entries:
            self._log.empty(self._last_in_table())

    def _read_log(self) -> None:
        """If the power went before the log's first line was on the disk, the table has had higher numbers."""
        if not self._log.last or not self._log.is_as_read():
            self._log.read()
            self._log.last = max(self._log.last, self._last_in_table())

    def _last_in_table(self) -> int:
        row = self._patiently("SELECT seq FROM sqlite_sequence WHERE name = 'waiting'").fetchone()
        return 0 if row is None else int(row[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Until its end nobody else changes the table or the log. Needs the lock, and names no errors."""
        try:
            self._patiently("BEGIN IMMEDIATE")
            yield
            self._patiently("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _one(self, sql: str, values: tuple[Any, ...]) -> Any:
        with self._lock, naming_damage(self.path):
            return self._patiently(sql, values).fetchone()

    def _patiently(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """SQLite's own pauses grow: beside a process that saves without end it would wait for seconds."""
        ends_at = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                return self._db.execute(sql, values)
            except sqlite3.OperationalError as error:
                if "is locked" not in str(error) or time.monotonic() > ends_at:
                    raise
            time.sleep(random.uniform(0.0005, 0.003))  # noqa: S311 - no secret


def _without(sessions: Collection[str]) -> str:
    each = ", ".join("?" * len(sessions))
    return f" AND ifnull(session, '') NOT IN ({each}) AND ifnull(external_id, '') NOT IN ({each})" if sessions else ""
