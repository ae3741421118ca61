"""Chunks of many streams in one transaction: one combined read before them, one combined write after.

Only what is simply new is stored here. All else (a repeated request, a gap, a stream that has ended, is too large or is locked
by another transaction) is left to `services.append_chunks`, which gives it its own answer.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings

from generation_app.streams.chunk_rows import NewChunks, size_of, store_chunks
from generation_app.streams.queries import OPEN
from sessions_app.core.public_names import Caller, db_uuid
from sessions_app.core.storage.sql import as_uuid, fetch_rows, on_postgresql, table_of
from sessions_app.core.storage.transactions import write

_LOCK = """
SELECT t.id, t.chunk_count, t.size_bytes, t.state, p.owner_id, p.id FROM generation_app_stream t
JOIN sessions_app_chatsession s ON s.id = t.session_id JOIN sessions_app_project p ON p.id = s.project_id
WHERE t.id IN (SELECT c0 FROM {given}) AND s.deleted_at IS NULL AND p.deleted_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class Append:
    """One request. `chunks`: JSON texts, the first of which is chunk number `offset`."""

    caller: Caller
    stream_id: uuid.UUID
    offset: int
    chunks: Sequence[str]


def append_together(appends: Sequence[Append]) -> list[int | None]:
    """For each the number of the next chunk, after the commit; None: it was left out, and none of it was done."""
    return write(partial(_append_all, appends)) if appends else []


def _append_all(appends: Sequence[Append]) -> list[int | None]:
    streams = _lock({append.stream_id for append in appends})
    new = [_accepted(append, streams.pop(append.stream_id, None)) for append in appends]
    store_chunks([chunks for chunks in new if chunks is not None])
    return [None if chunks is None else chunks.end for chunks in new]


def _accepted(append: Append, stream: list[Any] | None) -> NewChunks | None:
    """`stream`: None also for the second request to one stream."""
    if stream is None or not append.chunks:
        return None
    count, size_bytes, state, owner_id, project_id = stream
    caller = append.caller
    if owner_id != caller.user_id or caller.project_id not in {None, as_uuid(project_id)}:
        return None
    size_bytes += size_of(append.chunks)
    if append.offset != count or state != OPEN or size_bytes > settings.STREAM_BYTES:
        return None
    return NewChunks(append.stream_id, count, append.chunks, size_bytes)


def _lock(stream_ids: set[uuid.UUID]) -> dict[uuid.UUID, list[Any]]:
    """Those that no other transaction has locked: waiting for one would delay the whole batch."""
    given, parameters = table_of(("uuid",), [(db_uuid(stream_id),) for stream_id in stream_ids])
    sql = _LOCK.format(given=given)
    rows = fetch_rows(f"{sql} FOR NO KEY UPDATE OF t SKIP LOCKED" if on_postgresql() else sql, parameters)
    return {as_uuid(stream_id): found for stream_id, *found in rows}
