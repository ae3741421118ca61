"""Finding a text in one session's live messages, in bounded time however long the session is."""

import time
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sessions_app.chats.reading.messages import ON_PATH
from sessions_app.chats.search.text_matching import Excerpt, excerpt, in_pieces, matching_texts
from sessions_app.core.storage.sql import db_time, db_uuid, fetch_row, fetch_rows
from sessions_app.core.storage.text_comparison import folded_spellings
from sessions_app.models.live import Live

SECONDS = 0.15
# Messages that one call looks through.
MOST_SEARCHED = 20_000
_OF = f"FROM sessions_app_message WHERE session_id = %s AND epoch = %s AND {ON_PATH}"
_PATH = f"SELECT id, size_bytes, position {_OF} AND position < %s ORDER BY position DESC LIMIT %s"
_AT = f"SELECT message_id, position {_OF}"


@dataclass(frozen=True, slots=True)
class TextHit:
    """A message with the text."""

    message_id: str
    position: int
    role: str
    format: str | None
    excerpt: Excerpt


@dataclass(frozen=True, slots=True)
class TextHits:
    """Newest first. `next`: only messages from this position on were searched, or are in `hits`; None: all."""

    hits: list[TextHit]
    next: int | None


def find_in_session(*, session_id: uuid.UUID, live: Live, text: str, before: int, limit: int) -> TextHits:
    """Messages on the shown path whose text has these words, in upper or lower case, before a position."""
    rows = fetch_rows(_PATH, [db_uuid(session_id), live.epoch, before, MOST_SEARCHED])
    wanted, until, found, searched = folded_spellings(text), time.monotonic() + SECONDS, list[int](), 0
    for some in in_pieces(row[:2] for row in rows):
        found += matching_texts(some, wanted)
        searched += len(some)
        if len(found) > limit or time.monotonic() > until:
            break
    # Ids do not order forked messages: their positions do.
    positions = {row_id: position for row_id, _, position in rows[:searched]}
    kept = sorted(found, key=positions.__getitem__, reverse=True)[:limit]
    if len(found) > limit:
        return TextHits(_hits(kept, text), positions[kept[-1]])
    ended = searched < len(rows) or len(rows) == MOST_SEARCHED
    return TextHits(_hits(kept, text), rows[searched - 1][2] if ended else None)


def _hits(ids: list[int], text: str) -> list[TextHit]:
    if not ids:
        return []
    marks = ", ".join(["%s"] * len(ids))
    sql = (
        f"SELECT message_id, position, role, format, text FROM sessions_app_message WHERE id IN ({marks}) ORDER BY position DESC"  # noqa: S608
    )
    return [
        TextHit(message_id, position, role, saved_in, excerpt(words, text))
        for message_id, position, role, saved_in, words in fetch_rows(sql, ids)
    ]


def message_from_position(*, session_id: uuid.UUID, live: Live, position: int) -> tuple[str, int] | None:
    """Id and position of the first message on the path from a position on, else of the last one; None: there are none."""
    return _first(session_id, live, "position >= %s", position)


def message_from_time(*, session_id: uuid.UUID, live: Live, moment: datetime) -> tuple[str, int] | None:
    """As `message_from_position`, of the first message that was created at this time or later."""
    return _first(session_id, live, "created_at >= %s", db_time(moment))


def _first(session_id: uuid.UUID, live: Live, condition: str, value: Any) -> tuple[str, int] | None:
    of = [db_uuid(session_id), live.epoch]
    found = fetch_row(f"{_AT} AND {condition} ORDER BY position LIMIT 1", [*of, value])
    found = found or fetch_row(f"{_AT} ORDER BY position DESC LIMIT 1", of)
    return None if found is None else (found[0], found[1])
