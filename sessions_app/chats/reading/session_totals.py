"""Tokens and time of whole sessions, for lists.

No save writes them and no list sums messages: a list shows what is known of exactly the revision that it shows, and asks for the
rest. A background task counts that, a few messages at a time, and the process keeps it. So an undo, a truncate, an import or a
fork needs nothing here: it changes the revision, or makes another session.
"""

import time
import uuid
from collections import OrderedDict
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

from sessions_app.chats.reading.messages import page_after
from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.chats.reading.trace_entries import Entry, Tokens, entry_of
from sessions_app.core.storage.sql import db_uuid, fetch_row
from sessions_app.models.live import Live

MOST_KEPT, MOST_WAITING = 20_000, 1_000
MESSAGES_A_READ = 25
# The newest messages are read again at the next change: they are the ones that still change.
UNSETTLED = 20
# After each read the task rests so many times as long as the read took: saves come first.
REST = 2


@dataclass(slots=True)
class Meter:
    """Sums messages, given in their order. As `spans.totals_of` does, without keeping them."""

    tokens: Tokens = field(default_factory=Tokens)
    _closed_ms: float = 0.0
    _began: datetime | None = None
    _ended: datetime | None = None

    @property
    def ms(self) -> float:
        return self._closed_ms + self._turn_ms(None)

    def add(self, entry: Entry) -> None:
        self.tokens += entry.tokens
        if self._ended is not None and not entry.asks:
            self._ended = max(self._ended, entry.until)
            return
        self._closed_ms += self._turn_ms(entry.at)
        self._began, self._ended = entry.at, entry.at if entry.asks else entry.until

    def _turn_ms(self, following: datetime | None) -> float:
        if self._began is None or self._ended is None:
            return 0.0
        ended = self._ended if following is None else min(self._ended, following)
        return max(0.0, (ended - self._began).total_seconds() * 1_000)


@dataclass(frozen=True, slots=True)
class Revision:
    """What a session consisted of: its live messages as of a rev, on the path to a head."""

    session_id: uuid.UUID
    live: Live
    rev: int
    head: str | None

    @classmethod
    def of(cls, row: SessionRow) -> "Revision":
        return cls(row.id, row.live, row.rev, row.head)


@dataclass(slots=True)
class Counting:
    """The sum of a revision's messages up to the position `at`. `settled` is the sum up to `settled_at`, from which a later
    revision may be counted on; the messages between both are `unsettled`."""

    of: Revision
    meter: Meter = field(default_factory=Meter)
    at: int = 0
    settled: Meter = field(default_factory=Meter)
    settled_at: int = 0
    unsettled: list[tuple[int, Entry]] = field(default_factory=list)

    def read_on(self) -> bool:
        """Whether there is more to read."""
        page = page_after(session_id=self.of.session_id, live=self.of.live, position=self.at, limit=MESSAGES_A_READ)
        for item in page.items:
            self.at, entry = item["position"], entry_of(item, None)
            self.meter.add(entry)
            self.unsettled.append((self.at, entry))
        for at, entry in self.unsettled[:-UNSETTLED]:
            self.settled_at = at
            self.settled.add(entry)
        self.unsettled = self.unsettled[-UNSETTLED:]
        return page.more and bool(page.items)

    def followed_by(self, later: Revision) -> "Counting":
        """Counts on if nothing up to `settled_at` differs. What a switch of branches changes has no rev of its own."""
        begun = Counting(later)
        if (self.of.live, self.of.head, later.head) != (later.live, None, None) or later.rev < self.of.rev:
            return begun
        sql = "SELECT 1 FROM sessions_app_message WHERE session_id = %s AND rev > %s AND epoch = %s AND position <= %s LIMIT 1"
        if fetch_row(sql, [db_uuid(later.session_id), self.of.rev, later.live.epoch, self.settled_at]) is not None:
            return begun
        return Counting(later, copy(self.settled), self.settled_at, copy(self.settled), self.settled_at)


class SessionTotals:
    """What was counted, and what waits for it, the newest of both. Threads share it; one of them counts."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counted: OrderedDict[uuid.UUID, Counting] = OrderedDict()
        self._waiting: OrderedDict[uuid.UUID, Revision] = OrderedDict()
        self._counting: Counting | None = None

    def known(self, rows: Iterable[SessionRow]) -> dict[uuid.UUID, Meter]:
        """The sums that are known. The others will be counted."""
        found: dict[uuid.UUID, Meter] = {}
        with self._lock:
            for revision in (Revision.of(row) for row in rows if row.message_count):
                counted = self._counted.get(revision.session_id)
                if counted is not None and counted.of == revision:
                    self._counted.move_to_end(revision.session_id)
                    found[revision.session_id] = counted.meter
                else:
                    self._waiting[revision.session_id] = revision
            _shorten(self._waiting, MOST_WAITING)
        return found

    def count_on(self) -> int:
        """Reads a few messages of a session that a list asked for; 0 if none waits."""
        counting, self._counting = self._counting or self._next(), None
        if counting is None:
            return 0
        began = time.monotonic()
        if counting.read_on():
            self._counting = counting
            time.sleep(REST * (time.monotonic() - began))
        else:
            self._keep(counting)
        return 1

    def forget(self) -> None:
        with self._lock:
            self._counted.clear()
            self._waiting.clear()
            self._counting = None

    def _next(self) -> Counting | None:
        with self._lock:
            if not self._waiting:
                return None
            session_id, revision = self._waiting.popitem(last=False)
            before = self._counted.get(session_id)
        return Counting(revision) if before is None else before.followed_by(revision)

    def _keep(self, counting: Counting) -> None:
        counting.unsettled.clear()
        with self._lock:
            self._counted[counting.of.session_id] = counting
            self._counted.move_to_end(counting.of.session_id)
            _shorten(self._counted, MOST_KEPT)


def _shorten(items: OrderedDict[uuid.UUID, Any], most: int) -> None:
    while len(items) > most:
        items.popitem(last=False)


session_totals = SessionTotals()
