"""Writing streams: begin, append, end. Chunks are committed before they are acknowledged and before any reader sees them."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.db import transaction

from generation_app.models import Stream, StreamState
from generation_app.streams import hub
from generation_app.streams.chunk_rows import NewChunks, size_of, store_chunks
from generation_app.streams.queries import OPEN, StreamNotFound, StreamRow, chunks_from, find_stream
from sessions_app.chats.locking import lock_session
from sessions_app.core.errors import Conflict, TooLarge, TooMany
from sessions_app.core.public_names import Caller, db_uuid, fetch_row, now
from sessions_app.core.storage.sql import on_postgresql
from sessions_app.core.storage.transactions import write

_LOCK = """
SELECT t.chunk_count, t.size_bytes, t.state FROM generation_app_stream t
JOIN sessions_app_chatsession s ON s.id = t.session_id JOIN sessions_app_project p ON p.id = s.project_id
WHERE t.id = %s AND p.owner_id = %s AND s.deleted_at IS NULL AND p.deleted_at IS NULL
"""
_OF_PROJECT = " AND p.id = %s"
# An empty request says that the producer lives. Noting that more often costs a write and tells nothing.
SIGNS_OF_LIFE_EVERY = timedelta(seconds=5)


class OffsetConflict(Conflict):
    """`offset`: the number of the next chunk."""

    code = "offset_conflict"

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f"{why} Continue at `details.offset`.", details={"offset": offset})


class StreamEnded(Conflict):
    code, message = "stream_ended", "This stream has ended and takes no more chunks. Begin another one for another message."


class StreamTooLarge(TooLarge):
    code = "stream_too_large"

    def __init__(self) -> None:
        limit = settings.STREAM_BYTES
        super().__init__(f"The chunks of one stream have at most {limit:,} bytes together.", details={"limit": limit})


class TooManyOpen(TooMany):
    code = "too_many_streams"

    def __init__(self) -> None:
        limit = settings.ACCOUNT_STREAMS
        message = f"This account has {limit:,} open streams. End some first; silent ones end by themselves."
        super().__init__(message, details={"limit": limit}, retry_after=5)


@dataclass(slots=True)
class _Locked:
    """A stream's row, locked until the commit."""

    count: int
    size_bytes: int
    state: str


def begin_stream(*, caller: Caller, session_id: uuid.UUID, message_id: str) -> tuple[StreamRow, bool]:
    """The open stream of this message, and whether it is new. Raises SessionNotFound, SessionDeleted, TooManyOpen."""

    def work() -> tuple[StreamRow, bool]:
        lock_session(caller=caller, session_id=session_id)
        found = Stream.objects.filter(session_id=session_id, message_id=message_id, ended_at=None).first()
        if found is not None:
            return find_stream(caller=caller, stream_id=found.id), False
        if Stream.objects.filter(owner_id=caller.user_id, ended_at=None).count() >= settings.ACCOUNT_STREAMS:
            raise TooManyOpen
        made = Stream.objects.create(session_id=session_id, owner_id=caller.user_id, message_id=message_id)
        return find_stream(caller=caller, stream_id=made.id), True

    return write(work)


def append_chunks(*, caller: Caller, stream_id: uuid.UUID, offset: int, chunks: Sequence[str]) -> int:
    """Append these JSON texts, the first of which is chunk number `offset`. Returns the number of the next chunk.

    Chunks that are there already with the same content change nothing, so a request can be repeated. Raises
    StreamNotFound, OffsetConflict (a gap, or other content), StreamEnded, StreamTooLarge.
    """

    def work() -> int:
        stream = _lock(caller, stream_id)
        if offset > stream.count:
            raise OffsetConflict(stream.count, f"Chunks {stream.count} to {offset - 1} are missing.")
        known = stream.count - offset
        if known and chunks[:known] != _stored(stream_id, offset, min(known, len(chunks))):
            raise OffsetConflict(stream.count, "Another chunk has one of these numbers already.")
        new = chunks[known:]
        if stream.state != OPEN and (new or not chunks):
            raise StreamEnded
        if new:
            return _write(stream_id, stream, new)
        if not chunks:
            Stream.objects.filter(id=stream_id, written_at__lt=now() - SIGNS_OF_LIFE_EVERY).update(written_at=now())
        return stream.count

    return write(work)


def end_stream(*, caller: Caller, stream_id: uuid.UUID, state: str = StreamState.COMPLETE.value) -> StreamRow:
    """End it. A stream that has ended stays as it ended. Raises StreamNotFound."""

    def work() -> StreamRow:
        stream = _lock(caller, stream_id)
        if stream.state == OPEN:
            end_locked(stream_id, stream.count, state)
        return find_stream(caller=caller, stream_id=stream_id)

    return write(work)


def _lock(caller: Caller, stream_id: uuid.UUID) -> _Locked:
    named: list[Any] = [db_uuid(stream_id), caller.user_id]
    named += [] if caller.project_id is None else [db_uuid(caller.project_id)]
    found = fetch_row(_lock_sql(of_project=caller.project_id is not None), named)
    if found is None:
        raise StreamNotFound
    return _Locked(*found)


@cache
def _lock_sql(*, of_project: bool) -> str:
    sql = f"{_LOCK}{_OF_PROJECT if of_project else ''}"
    return f"{sql} FOR NO KEY UPDATE OF t" if on_postgresql() else sql


def _stored(stream_id: uuid.UUID, offset: int, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count and (more := chunks_from(stream_id, offset + len(found))):
        found += more
    return found[:count]


def _write(stream_id: uuid.UUID, stream: _Locked, new: Sequence[str]) -> int:
    written = NewChunks(stream_id, stream.count, new, stream.size_bytes + size_of(new))
    if written.size_bytes > settings.STREAM_BYTES:
        raise StreamTooLarge
    store_chunks([written])
    return written.end


def end_locked(stream_id: uuid.UUID, count: int, state: str) -> None:
    """`count`: of its chunks. Its row is locked."""
    Stream.objects.filter(id=stream_id).update(state=state, ended_at=now())
    transaction.on_commit(lambda: hub.push(stream_id, count, [], state), robust=True)
