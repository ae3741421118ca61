"""Finds matching messages in bounded time.

Three steps, until enough is found. First the newest texts are read and compared here, which suffices for frequent words. Then
the trigram index is queried for all the others: the cost for rare words is in proportion to the hits. If the index leaves too
many texts to compare, or the text makes no trigrams (punctuation), reading continues to older texts for a limited time, and the
result says where it ended. Reading is faster than PostgreSQL's own comparison, which lowercases each text first.

A text is always compared in linear time (`str.find`).
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from sessions_app.chats.search.filters import NO_FILTER, SearchFilter
from sessions_app.core.storage.sql import db_uuid, fetch_rows
from sessions_app.core.storage.text_comparison import folded_spellings, has_any, like, regular
from sessions_app.core.storage.time_limit import TimeIsUp, time_limit
from sessions_app.models import Caller

# Characters of a text that a hit shows around the match.
BEFORE, AFTER = 60, 120
# Seconds: of all steps, of the index, and a safety limit for statements that read the newest texts.
SEARCH_SECONDS, INDEX_SECONDS, READ_SECONDS = 0.15, 0.08, 2.0
# Messages in one read. The first read is small, because every search makes it.
FIRST_ROWS, ROWS, READ_BYTES = 500, 4_000, 2_000_000
# PostgreSQL's trigram index contains these; forked messages are added later.
INDEXED = "removed = '' AND words_due IS NULL"
LIVE = (
    "FROM sessions_app_message m JOIN sessions_app_chatsession s ON s.id = m.session_id AND s.epoch = m.epoch "
    "JOIN sessions_app_project p ON p.id = s.project_id WHERE m.removed = '' "
)
OWN = "AND s.deleted_at IS NULL AND p.deleted_at IS NULL AND p.owner_id = %s AND (%s::uuid IS NULL OR p.id = %s) "
# {also}: the conditions of a filter. The third column is whether the message is wanted.
_NEXT = (
    "SELECT m.id, m.size_bytes, p.id IS NOT NULL{also} FROM ("
    "SELECT id, size_bytes, session_id, epoch, role, format, updated_at FROM sessions_app_message "
    "WHERE removed = '' AND id > %s AND id < %s ORDER BY id DESC LIMIT %s) m "
    "LEFT JOIN sessions_app_chatsession s ON s.id = m.session_id AND s.epoch = m.epoch AND s.deleted_at IS NULL "
    "LEFT JOIN sessions_app_project p ON p.id = s.project_id AND p.deleted_at IS NULL "
    "AND p.owner_id = %s AND (%s::uuid IS NULL OR p.id = %s) ORDER BY m.id DESC"
)
# SQLite: of the messages that have the text's trigrams.
_NEXT_CANDIDATES = (
    "SELECT i.id, COALESCE(m.size_bytes, 0), p.id IS NOT NULL{also} FROM ("
    "SELECT rowid AS id FROM sessions_app_textindex WHERE sessions_app_textindex MATCH %s "
    "AND rowid > %s AND rowid < %s ORDER BY rowid DESC LIMIT %s) i "
    "LEFT JOIN sessions_app_message m ON m.id = i.id AND m.removed = '' "
    "LEFT JOIN sessions_app_chatsession s ON s.id = m.session_id AND s.epoch = m.epoch AND s.deleted_at IS NULL "
    "LEFT JOIN sessions_app_project p ON p.id = s.project_id AND p.deleted_at IS NULL "
    "AND p.owner_id = %s AND (%s IS NULL OR p.id = %s) ORDER BY i.id DESC"
)


class Excerpt(NamedTuple):
    """A match between what is before and after it: unescaped pieces of a text. `cut_…`: the text has more on that side."""

    before: str
    hit: str
    after: str
    cut_before: bool
    cut_after: bool

    def as_json(self) -> dict[str, str]:
        return {"before": self.before, "hit": self.hit, "after": self.after}


@dataclass(frozen=True, slots=True)
class Found:
    """`ended_at`: only newer messages were searched; None: all were."""

    ids: list[int]
    ended_at: int | None = None


def newest_messages(caller: Caller, text: str, *, after: int, before: int, limit: int, wanted: SearchFilter = NO_FILTER) -> Found:
    """PostgreSQL: matching own live messages, newest first; `after` and `before` are message numbers."""
    walk = _Walk(lambda at, count: next_sql(caller, wanted, after, at, count), folded_spellings(text), before, limit)
    walk.read(FIRST_ROWS, pieces=1)
    if not walk.ended and any(letter.isalnum() for letter in text):
        with suppress(TimeIsUp):
            return Found([*walk.ids, *_by_index(caller, text, after, walk.at, limit - len(walk.ids), wanted)])
    return walk.to_the_end()


def newest_candidates(caller: Caller, text: str, trigrams: str, *, before: int, limit: int, wanted: SearchFilter) -> Found:
    """SQLite: matching own live messages that a filter or a project leaves, newest first.

    The index is read in steps, for a limited time: a filter may leave none of very many matches.
    """
    walk = _Walk(lambda at, count: next_sql(caller, wanted, 0, at, count, trigrams), folded_spellings(text), before, limit)
    walk.read(FIRST_ROWS)
    return walk.to_the_end()


def next_sql(
    caller: Caller, wanted: SearchFilter, after: int, at: int, count: int, trigrams: str | None = None
) -> tuple[str, list[Any]]:
    """The next `count` messages of all users before `at`: id, bytes, whether it is wanted. `trigrams`: only those with them
    (SQLite)."""
    also, parameters = wanted.message_sql("m")
    project = caller.project_id and db_uuid(caller.project_id)
    own = [caller.user_id, project, project]
    if trigrams is None:
        return _NEXT.format(also=also), [*parameters, after, at, count, *own]
    return _NEXT_CANDIDATES.format(also=also), [*parameters, trigrams, after, at, count, *own]


class _Walk:
    """Reads from the newest message to older ones."""

    def __init__(self, rows_sql: Callable[[int, int], tuple[str, list[Any]]], wanted: Sequence[str], at: int, limit: int) -> None:
        self._rows_sql, self._wanted, self._limit = rows_sql, wanted, limit
        self.at, self.ids, self.exhausted = at, list[int](), False
        self.until = time.monotonic() + SEARCH_SECONDS

    @property
    def ended(self) -> bool:
        return self.exhausted or len(self.ids) >= self._limit

    def to_the_end(self) -> Found:
        """Read on until enough is found or time runs out."""
        while not self.ended and time.monotonic() < self.until:
            self.read(ROWS)
        return Found(self.ids, None if self.exhausted else self.at)

    def read(self, count: int, *, pieces: int | None = None) -> None:
        """Read `count` messages of all users, so that the cost does not depend on how many are the caller's."""
        with time_limit(READ_SECONDS):
            rows = fetch_rows(*self._rows_sql(self.at, count))
        for number, some in enumerate(in_pieces((message_id, size) for message_id, size, wanted in rows if wanted)):
            if number == pieces or len(self.ids) >= self._limit or (number and time.monotonic() > self.until):
                return
            self.ids += matching_texts(some, self._wanted)
            self.at = some[-1]
        self.at = rows[-1][0] if rows else self.at
        self.exhausted = len(rows) < count


def in_pieces(rows: Iterable[Sequence[Any]], most_bytes: int | None = None) -> Iterator[list[Any]]:
    """Batches of ids from rows of (id, bytes), limited in bytes (None: `READ_BYTES`) but with at least one row."""
    most_bytes = READ_BYTES if most_bytes is None else most_bytes
    some: list[Any] = []
    size = 0
    for row_id, row_bytes in rows:
        if some and size + row_bytes > most_bytes:
            yield some
            some, size = [], 0
        some.append(row_id)
        size += row_bytes
    if some:
        yield some


def matching_texts(ids: list[int], wanted: Sequence[str]) -> list[int]:
    """The matching ones of these messages, newest first."""
    marks = ", ".join(["%s"] * len(ids))
    with time_limit(READ_SECONDS):
        texts = fetch_rows(f"SELECT id, text FROM sessions_app_message WHERE id IN ({marks}) ORDER BY id DESC", ids)  # noqa: S608
    return [message_id for message_id, text in texts if has_any(wanted, text)]


def excerpt(text: str, words: str) -> Excerpt:
    found = re.search(regular(words), text)
    if found is None:  # The database folds a letter that Python does not fold.
        return Excerpt("", "", text[: BEFORE + AFTER], cut_before=False, cut_after=len(text) > BEFORE + AFTER)
    start, end = found.span()
    first, last = max(0, start - BEFORE), end + AFTER
    return Excerpt(text[first:start], text[start:end], text[end:last], cut_before=first > 0, cut_after=last < len(text))


def _by_index(caller: Caller, text: str, after: int, before: int, limit: int, wanted: SearchFilter) -> list[int]:
    with time_limit(INDEX_SECONDS, by_index=True):
        return [found for (found,) in fetch_rows(*index_sql(caller, text, after, before, limit, wanted))]


def index_sql(
    caller: Caller, text: str, after: int, before: int, limit: int, wanted: SearchFilter = NO_FILTER
) -> tuple[str, list[Any]]:
    """Matches the text first, over all users: with the other conditions or ordered by id, PostgreSQL would choose another
    index and compare each text."""
    matches, patterns = like("text", text)
    found = (
        "SELECT id, session_id, epoch, removed, role, format, updated_at FROM sessions_app_message "  # noqa: S608 - our own SQL
        f"WHERE {INDEXED} AND {matches} AND id + 0 > %s AND id + 0 < %s"
    )
    live = LIVE.replace("sessions_app_message m", "found m")
    also, parameters = wanted.message_sql("m")
    sql = f"WITH found AS MATERIALIZED ({found}) SELECT m.id {live} {OWN} {also} ORDER BY m.id DESC LIMIT %s"
    return sql, [*patterns, after, before, caller.user_id, caller.project_id, caller.project_id, *parameters, limit]
