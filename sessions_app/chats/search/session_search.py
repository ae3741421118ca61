"""A project's sessions with a match in the title or in a live message, most recently changed first.

The same three steps as for messages (`text_matching.py`): the newest sessions are read, then the index is queried, and if it
leaves too many texts to compare, reading continues to older sessions for a limited time. It may end within a big session.
"""

import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from sessions_app.chats.search.message_search import BIGGEST, match_expression, matching_messages, title_matches
from sessions_app.chats.search.text_matching import LIVE, READ_BYTES, in_pieces, matching_texts
from sessions_app.chats.search.trigrams import makes_trigrams
from sessions_app.core.storage.sql import db_uuid, fetch_rows, on_postgresql
from sessions_app.core.storage.text_comparison import folded_spellings, has_any, like
from sessions_app.core.storage.time_limit import TimeIsUp, time_limit
from sessions_app.models import ChatSession

# Seconds: of all steps, of the index, of reading on after it at least, and a safety limit for one statement.
SEARCH_SECONDS, INDEX_SECONDS, READ_ON_SECONDS, READ_SECONDS = 0.06, 0.04, 0.03, 2.0
# Of texts in one read, after which there may be no more time: 500 KB take 10 ms.
PIECE_BYTES = 500_000
# With less time PostgreSQL could hardly end the statement in order.
LEAST_INDEX_SECONDS = 0.01
FIRST_SESSIONS, SESSIONS, MESSAGES = 100, 500, 2_000
# Text in more sessions than this is found faster by reading the newest ones.
MOST_INDEXED = 2_000
_BY_TRIGRAMS = (
    "SELECT DISTINCT s.id FROM sessions_app_textindex i CROSS JOIN sessions_app_message m ON m.id = i.rowid AND m.removed = '' "
    "CROSS JOIN sessions_app_chatsession s ON s.id = m.session_id AND s.epoch = m.epoch "
    "WHERE i.sessions_app_textindex MATCH %s AND s.project_id = %s AND m.text REGEXP %s LIMIT %s"
)
type Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class FoundRows:
    """`ended_at`: the last session that was searched before time ran out; None: all were searched. `before`: of that session only
    messages with this number or a higher one were searched, without a match; None: it was searched to its end."""

    rows: list[Row]
    ended_at: Row | None = None
    before: int | None = None


def find_sessions(
    rows: QuerySet[ChatSession],
    fields: Sequence[str],
    text: str,
    project_id: uuid.UUID,
    limit: int,
    named: Sequence[uuid.UUID] = (),
) -> FoundRows:
    """Of `rows`, ordered, values of `fields` (`id`, `title`, `epoch` and `size_bytes` among them). `named`: ids of sessions that
    match by something else."""
    if not makes_trigrams(text):
        return FoundRows(list(rows.filter(title_matches(text) | Q(pk__in=named)).values_list(*fields)[:limit]))
    walk = _Walk(rows, fields, text, limit, named)
    walk.read(FIRST_SESSIONS, only_small=True)
    if walk.ended:
        return FoundRows(walk.found)
    if (ids := _by_index(text, project_id)) is not None:
        return FoundRows(list(rows.filter(pk__in=ids.union(named)).values_list(*fields)[:limit]))
    return walk.to_the_end()


def continue_within(
    begun: QuerySet[ChatSession],
    before: int,
    rows: QuerySet[ChatSession],
    fields: Sequence[str],
    text: str,
    limit: int,
    named: Sequence[uuid.UUID] = (),
) -> FoundRows:
    """As `find_sessions`, after a page that ended within a session: `begun` has it alone, if it is still there."""
    walk = _Walk(rows, fields, text, limit, named)
    for row in begun.values_list(*fields):
        walk.look_at([row], before)
    return walk.to_the_end()


class _Walk:
    """Reads sessions from the most recently changed to older ones."""

    def __init__(
        self, rows: QuerySet[ChatSession], fields: Sequence[str], text: str, limit: int, named: Sequence[uuid.UUID]
    ) -> None:
        self._rows, self._text, self._limit = rows.values_list(*fields), text, limit
        self._wanted, self._named = folded_spellings(text), set(named)
        self._id, self._title, self._size = (fields.index(name) for name in ("id", "title", "size_bytes"))
        self._at, self.found, self.exhausted = 0, list[Row](), False
        self._last: Row | None = None
        # Of the last session the messages from this number on are read, and it is not decided; None: it is.
        self._before: int | None = None
        self._until = time.monotonic() + SEARCH_SECONDS

    @property
    def ended(self) -> bool:
        return self.exhausted or len(self.found) >= self._limit

    def to_the_end(self) -> FoundRows:
        """Read on until enough is found or time runs out."""
        self._until = max(self._until, time.monotonic() + READ_ON_SECONDS)
        while not self.ended and (self._last is None or time.monotonic() < self._until) and self._before is None:
            self.read(SESSIONS)
        return FoundRows(self.found, None if self.ended else self._last, self._before)

    def read(self, count: int, *, only_small: bool = False) -> None:
        """`only_small`: stop where the sessions no longer fit into one read."""
        rows = list(self._rows[self._at : self._at + count])
        by_id = {row[self._id]: row for row in rows}
        for some in in_pieces(((row[self._id], row[self._size]) for row in rows), READ_BYTES if only_small else PIECE_BYTES):
            if only_small and (some[0] != rows[0][self._id] or by_id[some[0]][self._size] > READ_BYTES):
                return
            self.look_at([by_id[session_id] for session_id in some])
            self._at += len(some)
            if self.ended or self._before is not None or time.monotonic() > self._until:
                return
        self.exhausted = len(rows) < count

    def look_at(self, rows: list[Row], before: int | None = None) -> None:
        """Several sessions fit into one read; a big one is alone. `before`: its messages from this number on were read."""
        others = [row for row in rows if not has_any(self._wanted, row[self._title]) and row[self._id] not in self._named]
        having = {row[self._id] for row in rows} - {row[self._id] for row in others}
        self._before = None
        if len(rows) > 1:
            having |= self._with_texts(others)
        elif others:
            having |= self._if_with_text(rows[0][self._id], before)
        self.found += [row for row in rows if row[self._id] in having]
        self._last = rows[-1]

    def _with_texts(self, rows: list[Row]) -> set[Any]:
        """Ids of sessions with a match in a live message. Messages are read until each session has a match."""
        wanted, having, before = {row[self._id] for row in rows}, set[Any](), BIGGEST
        while wanted and (messages := _messages_of(wanted, before)):
            for some in in_pieces((message_id, size) for message_id, (size, _) in messages.items()):
                having |= self._having([message_id for message_id in some if messages[message_id][1] in wanted], messages)
                wanted -= having
            before = min(messages) if len(messages) == MESSAGES else 0
        return having

    def _if_with_text(self, session_id: Any, before: int | None) -> set[Any]:
        """This session's id if it has a match in a live message. The index is queried after its newest messages; if it cannot
        tell, reading continues as long as there is time."""
        at, asked = BIGGEST if before is None else before, before is not None
        while messages := _messages_of({session_id}, at):
            oldest, are_all = min(messages), len(messages) < MESSAGES
            for some in in_pieces(((message_id, size) for message_id, (size, _) in messages.items()), PIECE_BYTES):
                if self._having(some, messages):
                    return {session_id}
                if are_all and some[-1] == oldest:
                    return set()
                left = self._until - time.monotonic()
                if not asked and left > LEAST_INDEX_SECONDS:
                    asked = True
                    with suppress(TimeIsUp), time_limit(min(left, INDEX_SECONDS), by_all_indexes=True):
                        return {session_id} if matching_messages(self._text).filter(session_id=session_id).exists() else set()
                if time.monotonic() > self._until:
                    self._before = some[-1]
                    return set()
            at = oldest
        return set()

    def _having(self, ids: list[int], messages: dict[int, tuple[int, uuid.UUID]]) -> set[Any]:
        return {messages[message_id][1] for message_id in matching_texts(ids, self._wanted)} if ids else set()


def _messages_of(session_ids: set[uuid.UUID], before: int) -> dict[int, tuple[int, uuid.UUID]]:
    """Sizes and sessions of live messages, newest first, one batch at a time."""
    marks = ", ".join(["%s"] * len(session_ids))
    sql = (
        f"SELECT m.id, m.size_bytes, m.session_id {LIVE} AND m.session_id IN ({marks}) AND m.id < %s ORDER BY m.id DESC LIMIT %s"
    )
    with time_limit(READ_SECONDS):
        found = fetch_rows(sql, [*map(db_uuid, session_ids), before, MESSAGES])
    return {
        message_id: (size, session_id if isinstance(session_id, uuid.UUID) else uuid.UUID(session_id))
        for message_id, size, session_id in found
    }


def _by_index(text: str, project_id: uuid.UUID) -> set[Any] | None:
    """Ids of all matching sessions; None: too many, or too many texts to compare."""
    titles = ChatSession.objects.filter(title_matches(text), project_id=project_id).order_by()
    try:
        with time_limit(INDEX_SECONDS, by_index=True):
            found = {row[0] for row in fetch_rows(*_texts_sql(text, project_id))}
            found |= set(titles.values_list("id", flat=True)[: MOST_INDEXED + 1])
    except TimeIsUp:
        return None
    return found if len(found) <= MOST_INDEXED else None


def _texts_sql(text: str, project_id: uuid.UUID) -> tuple[str, list[Any]]:
    if not on_postgresql():
        trigrams, pattern = match_expression(text)
        return _BY_TRIGRAMS, [trigrams, project_id.hex, pattern, MOST_INDEXED + 1]
    matches, patterns = like("m.text", text)
    sql = f"SELECT DISTINCT m.session_id {LIVE} AND m.words_due IS NULL AND s.project_id = %s AND {matches} LIMIT %s"
    return sql, [project_id, *patterns, MOST_INDEXED + 1]
