"""Finds matching messages in bounded time.

Three steps, until enough is found. First the newest texts are read and compared here, which suffices for frequent words. Then
the trigram index is queried for all the others: the cost for rare words is in proportion to the hits. If the index leaves too
many texts to compare, or the text makes no trigrams (punctuation), reading continues to older texts for a limited time, and the
result says where it ended. Reading is faster than PostgreSQL's own comparison, which lowercases each text first.

A text is always compared in linear time (`str.find`).
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db.models import CharField, Lookup, TextField

from sessions_app.core.storage.sql import fetch_rows
from sessions_app.core.storage.time_limit import TimeIsUp, time_limit
from sessions_app.models import Caller

# Seconds: of all steps, of the index, and a safety limit for statements that read the newest texts.
SEARCH_SECONDS, INDEX_SECONDS, READ_SECONDS = 0.15, 0.08, 2.0
# Messages in one read. The first read is small, because every search makes it.
FIRST_ROWS, ROWS, READ_BYTES = 500, 4_000, 2_000_000
# PostgreSQL's LIKE compares every position of a text with the whole pattern: it gets pieces, and the rest is compared once.
PIECE, PIECES = 24, 4
# PostgreSQL's trigram index contains these; forked messages are added later.
INDEXED = "removed = '' AND words_due IS NULL"
LIVE = (
    "FROM sessions_app_message m JOIN sessions_app_chatsession s ON s.id = m.session_id AND s.epoch = m.epoch "
    "JOIN sessions_app_project p ON p.id = s.project_id WHERE m.removed = '' "
)
OWN = "AND s.deleted_at IS NULL AND p.deleted_at IS NULL AND p.owner_id = %s AND (%s::uuid IS NULL OR p.id = %s) "
_NEXT = (
    "SELECT m.id, m.size_bytes, p.id IS NOT NULL FROM ("
    "SELECT id, size_bytes, session_id, epoch FROM sessions_app_message "
    "WHERE removed = '' AND id > %s AND id < %s ORDER BY id DESC LIMIT %s) m "
    "LEFT JOIN sessions_app_chatsession s ON s.id = m.session_id AND s.epoch = m.epoch AND s.deleted_at IS NULL "
    "LEFT JOIN sessions_app_project p ON p.id = s.project_id AND p.deleted_at IS NULL "
    "AND p.owner_id = %s AND (%s::uuid IS NULL OR p.id = %s) ORDER BY m.id DESC"
)


@dataclass(frozen=True, slots=True)
class Found:
    """`ended_at`: only newer messages were searched; None: all were."""

    ids: list[int]
    ended_at: int | None = None


def fold(text: str) -> str:
    """Fold case as the database does: letter by letter (Python treats a final Greek sigma differently)."""
    return text.replace("Σ", "σ").lower()


def newest_messages(caller: Caller, text: str, *, after: int, before: int, limit: int) -> Found:
    """PostgreSQL: matching own live messages, newest first; `after` and `before` are message numbers."""
    walk = _Walk(caller, fold(text), after, before, limit)
    walk.read(FIRST_ROWS, pieces=1)
    if not walk.ended and any(letter.isalnum() for letter in text):
        with suppress(TimeIsUp):
            return Found([*walk.ids, *_by_index(caller, text, after, walk.at, limit - len(walk.ids))])
    while not walk.ended and time.monotonic() < walk.until:
        walk.read(ROWS)
    return Found(walk.ids, None if walk.exhausted else walk.at)


class _Walk:
    """Reads from the newest message to older ones."""

    def __init__(self, caller: Caller, folded: str, after: int, at: int, limit: int) -> None:
        self._own = [caller.user_id, caller.project_id, caller.project_id]
        self._folded, self._after, self._limit = folded, after, limit
        self.at, self.ids, self.exhausted = at, list[int](), False
        self.until = time.monotonic() + SEARCH_SECONDS

    @property
    def ended(self) -> bool:
        return self.exhausted or len(self.ids) >= self._limit

    def read(self, count: int, *, pieces: int | None = None) -> None:
        """Read `count` messages of all users, so that the cost does not depend on how many are the caller's."""
        with time_limit(READ_SECONDS):
            rows = fetch_rows(_NEXT, [self._after, self.at, count, *self._own])
        for number, some in enumerate(in_pieces((message_id, size) for message_id, size, own in rows if own)):
            if number == pieces or len(self.ids) >= self._limit or (number and time.monotonic() > self.until):
                return
            self.ids += matching_texts(some, self._folded)
            self.at = some[-1]
        self.at = rows[-1][0] if rows else self.at
        self.exhausted = len(rows) < count


def in_pieces(rows: Iterable[Sequence[Any]]) -> Iterator[list[Any]]:
    """Batches of ids from rows of (id, bytes), limited in bytes but with at least one row."""
    some: list[Any] = []
    size = 0
    for row_id, row_bytes in rows:
        if some and size + row_bytes > READ_BYTES:
            yield some
            some, size = [], 0
        some.append(row_id)
        size += row_bytes
    if some:
        yield some


def matching_texts(ids: list[int], folded: str) -> list[int]:
    """The matching ones of these messages, newest first."""
    marks = ", ".join(["%s"] * len(ids))
    with time_limit(READ_SECONDS):
        texts = fetch_rows(f"SELECT id, text FROM sessions_app_message WHERE id IN ({marks}) ORDER BY id DESC", ids)  # noqa: S608
    return [message_id for message_id, text in texts if folded in fold(text)]


def _by_index(caller: Caller, text: str, after: int, before: int, limit: int) -> list[int]:
    with time_limit(INDEX_SECONDS, by_index=True):
        return [found for (found,) in fetch_rows(*index_sql(caller, text, after, before, limit))]


def index_sql(caller: Caller, text: str, after: int, before: int, limit: int) -> tuple[str, list[Any]]:
    """Matches the text first, over all users: with the other conditions or ordered by id, PostgreSQL would choose another
    index and compare each text."""
    matches, patterns = like("text", text)
    found = (
        "SELECT id, session_id, epoch, removed FROM sessions_app_message "  # noqa: S608 - our own SQL
        f"WHERE {INDEXED} AND {matches} AND id + 0 > %s AND id + 0 < %s"
    )
    live = LIVE.replace("sessions_app_message m", "found m")
    sql = f"WITH found AS MATERIALIZED ({found}) SELECT m.id {live} {OWN} ORDER BY m.id DESC LIMIT %s"
    return sql, [*patterns, after, before, caller.user_id, caller.project_id, caller.project_id, limit]


@CharField.register_lookup
@TextField.register_lookup
class HasWords(Lookup):
    """`…__has_words`, on PostgreSQL: Django's `icontains` there is `UPPER(…) LIKE`, for which no trigrams are used."""

    lookup_name, prepare_rhs = "has_words", False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        matches, patterns = like(column, self.rhs)
        return matches, (*tuple(parameters) * len(patterns), *patterns)


def like(column: str, text: str) -> tuple[str, list[str]]:
    """PostgreSQL's condition for a case-insensitive match, written so that it uses the trigram index."""
    if len(text) <= PIECE:
        return f"{column} ILIKE %s", [_pattern(text)]
    step = (len(text) - PIECE) / (PIECES - 1)
    pieces = dict.fromkeys(text[round(number * step) :][:PIECE] for number in range(PIECES))
    found = " AND ".join([*[f"{column} ILIKE %s"] * len(pieces), f"strpos(lower({column}), lower(%s)) > 0"])
    return f"({found})", [*map(_pattern, pieces), text]


def _pattern(text: str) -> str:
    return "%" + text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") + "%"
