import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from generation_app.models import StreamState
from generation_app.streams import services
from generation_app.streams.chunk_batches import Append
from generation_app.streams.following import Followed, follow, place_of
from generation_app.streams.queries import find_stream, open_stream_of, stream_uuid
from generation_app.streams.schemas import AS, CHUNK_BYTES, OFFSET, ChunksIn, EndIn, OffsetOut, StreamIn, StreamOut
from sessions_app.chats.reading.sessions import get_session, session_uuid
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import TooLarge
from sessions_app.core.public_names import Caller
from sessions_app.core.serialization import strict_json
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.web.responses import json_reply, refusals, takes

router = Router(tags=["Streams"])
COMPLETE = EndIn.model_validate({})
LAST_EVENT_ID = {
    "in": "header",
    "name": "Last-Event-ID",
    "required": False,
    "description": "The `id` of the last event that the reader has: it continues behind it.",
    "schema": {"type": "string"},
}
EVENTS: dict[str, Any] = {
    **takes(LAST_EVENT_ID),
    "responses": {
        200: {"description": "The stream.", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
        204: {"description": "Nothing streams."},
    },
}


@router.post(
    "/sessions/{session_id}/streams",
    response={200: StreamOut, 201: StreamOut, **refusals(404, 410)},
    operation_id="start_stream",
)
def start(request: HttpRequest, session_id: str, payload: StreamIn) -> HttpResponse:
    """Hold an answer while it is made: every reader gets all of it, at any time. An open stream of the same message is
    returned again (200), with the `offset` to continue at."""
    stream, is_new = services.begin_stream(
        caller=caller_of(request), session_id=session_uuid(session_id), message_id=payload.message
    )
    return json_reply(stream.as_json(), status=201 if is_new else 200)


@router.post("/streams/{stream_id}/chunks", response={200: OffsetOut, **refusals(404, 409, 413)}, operation_id="append_chunks")
def append(request: HttpRequest, stream_id: str, payload: ChunksIn) -> HttpResponse:
    """Append chunks; the same again is accepted. A gap, or another chunk under a number → 409 with the present `offset`."""
    caller, stream = caller_of(request), stream_uuid(stream_id)
    return offset_reply(
        stream, services.append_chunks(caller=caller, stream_id=stream, offset=payload.offset, chunks=chunk_texts(payload))
    )


def append_of(caller: Caller, stream_id: str, body: bytes) -> Append:
    """The same request from a body that was not parsed. Raises AppError, ValidationError."""
    value, _ = strict_json.loads(body)
    payload = ChunksIn.model_validate(value)
    return Append(caller, stream_uuid(stream_id), payload.offset, chunk_texts(payload))


def offset_reply(stream_id: uuid.UUID, offset: int) -> HttpResponse:
    return json_reply({"stream": str(stream_id), "offset": offset})


def chunk_texts(payload: ChunksIn) -> list[str]:
    """As JSON. Raises TooLarge."""
    chunks = [json_text(chunk) for chunk in payload.chunks]
    if any(len(chunk.encode()) > CHUNK_BYTES for chunk in chunks):
        raise TooLarge(f"A chunk has at most {CHUNK_BYTES:,} bytes as JSON: split it.", details={"limit": CHUNK_BYTES})
    return chunks


@router.post("/streams/{stream_id}/end", response={200: StreamOut, **refusals(404)}, operation_id="end_stream")
def end(request: HttpRequest, stream_id: str, payload: EndIn = COMPLETE) -> HttpResponse:
    """End a stream: its readers get the chunks so far, and the end. The chunks are dropped a day later. Idempotent."""
    state = StreamState.INTERRUPTED if payload.interrupted else StreamState.COMPLETE
    stream = services.end_stream(caller=caller_of(request), stream_id=stream_uuid(stream_id), state=state.value)
    return json_reply(stream.as_json())


@router.get(
    "/streams/{stream_id}", response={200: None, 204: None, **refusals(404)}, operation_id="read_stream", openapi_extra=EVENTS
)
def read(request: HttpRequest, stream_id: str, offset: int | None = OFFSET, as_: str | None = AS) -> HttpResponse:
    """Server-Sent Events: first what was, then what comes, closed at the end. `id` is the chunk's number, `data` the chunk."""
    found = stream_uuid(stream_id)
    place = place_of(request, found, offset, as_)
    stream = find_stream(caller=caller_of(request), stream_id=found)
    return follow(request, Followed(stream, place, as_))


@router.get(
    "/sessions/{session_id}/stream",
    response={200: None, 204: None, **refusals(404, 410)},
    operation_id="read_session_stream",
    openapi_extra=EVENTS,
)
def read_of_session(request: HttpRequest, session_id: str, offset: int | None = OFFSET, as_: str | None = AS) -> HttpResponse:
    """The stream of the session's answer that is being made now, as `GET /streams/{stream_id}` sends it, but `id` is its id,
    a colon and the chunk's number: a reader that continues gets all of another stream. 204 if there is none."""
    session = get_session(caller=caller_of(request), session_id=session_uuid(session_id))
    stream = open_stream_of(caller=caller_of(request), session_id=session.id)
    place = place_of(request, None if stream is None else stream.id, offset, as_)
    return follow(request, None if stream is None else Followed(stream, place, as_, of_session=True))
