"""Reading streams: which one, how far it is, and its chunks."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import batched

from django.db.models import QuerySet, Sum

from generation_app.models import Stream, StreamPiece, StreamState
from sessions_app.core.errors import NotFound
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.public_names import Caller

# In one read of a reader that is behind. With the last row it may be as much again.
BYTES_AT_ONCE = 64_000
PIECES_AT_ONCE = 500
IDS_AT_ONCE = 1_000
OPEN = StreamState.OPEN.value


class StreamNotFound(NotFound):
    kind = "stream"
    message = "You have no stream with this id. Streams are dropped a day after their end: read the message itself."


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A stream of the caller. `count`: its chunks so far."""

    id: uuid.UUID
    session_id: uuid.UUID
    project_id: uuid.UUID
    project_path: str
    message_id: str
    state: str
    count: int

    @property
    def is_open(self) -> bool:
        return self.state == OPEN

    def as_json(self) -> dict[str, object]:
        named = {"stream": str(self.id), "session": str(self.session_id), "message": self.message_id}
        return {**named, "state": self.state, "offset": self.count}


_COLUMNS = ("id", "session_id", "session__project_id", "session__project__path", "message_id", "state", "chunk_count")


def stream_uuid(text: str) -> uuid.UUID:
    return parse_id(text, StreamNotFound)


def find_stream(*, caller: Caller, stream_id: uuid.UUID) -> StreamRow:
    """Raises StreamNotFound: also for a stream of a session in the trash."""
    found = _visible(caller).filter(id=stream_id).values_list(*_COLUMNS).first()
    if found is None:
        raise StreamNotFound
    return StreamRow(*found)


def open_stream_of(*, caller: Caller, session_id: uuid.UUID) -> StreamRow | None:
    """The session's newest stream that has not ended."""
    found = _visible(caller).filter(session_id=session_id, ended_at=None).order_by("-created_at", "id")
    values = found.values_list(*_COLUMNS).first()
    return None if values is None else StreamRow(*values)


def _visible(caller: Caller) -> QuerySet[Stream]:
    alive = {"session__deleted_at": None, "session__project__deleted_at": None}
    found = Stream.objects.filter(session__project__owner_id=caller.user_id, **alive)
    return found if caller.project_id is None else found.filter(session__project_id=caller.project_id)


def chunks_from(stream_id: uuid.UUID, offset: int) -> list[str]:
    """The JSON texts of the chunks from this number on: as many as one read returns, none if there are none."""
    # Pieces follow each other, so the last one that begins at or before `offset` has it, or nothing has.
    pieces = StreamPiece.objects.filter(stream_id=stream_id)
    at = pieces.filter(first__lte=offset).order_by("-first").values_list("first", flat=True)[:1]
    rows = pieces.filter(first__gte=at).order_by("first").values_list("first", "chunks")
    found: list[str] = []
    size = 0
    for first, text in rows[:PIECES_AT_ONCE].iterator(chunk_size=20):
        if first > offset + len(found):  # A gap: these are being dropped.
            break
        found += text.split("\n")[max(0, offset - first) :]
        size += len(text)
        if size >= BYTES_AT_ONCE:
            break
    return found


def has_chunk(stream_id: uuid.UUID, number: int) -> bool:
    pieces = StreamPiece.objects.filter(stream_id=stream_id, first__lte=number).order_by("-first")
    first, count = pieces.values_list("first", "count").first() or (0, 0)
    return number < first + count


def standing_of(stream_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, tuple[int, str]]:
    """`{id: (number of chunks, state)}` of those that exist."""
    found: dict[uuid.UUID, tuple[int, str]] = {}
    for some in batched(stream_ids, IDS_AT_ONCE):
        rows = Stream.objects.filter(id__in=some).values_list("id", "chunk_count", "state")
        found |= {stream_id: (count, state) for stream_id, count, state in rows}
    return found


def stream_bytes(user_id: int) -> int:
    """Bytes of an account's chunks."""
    return int(Stream.objects.filter(owner_id=user_id).aggregate(total=Sum("size_bytes"))["total"] or 0)


def sessions_streamed_since(sessions: list[uuid.UUID], at: datetime) -> set[uuid.UUID]:
    """A stream has chunks that no message may have yet, and its writer and readers are there."""
    return set(Stream.objects.filter(session__in=sessions, written_at__gte=at).values_list("session_id", flat=True))
