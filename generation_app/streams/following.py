"""Readers of a stream: what a request asks for, and its response as it grows.

The operation only checks and says what is followed; the server's event loop then sends, without a thread and without a database
connection (`config/server/waiting/stream_readers.py`). Without such a server the response has the chunks so far.
"""

import logging
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass

from django.db import Error
from django.http import HttpRequest, HttpResponse

from generation_app.streams.formats import AiSdk, Format, OpenAi, Plain
from generation_app.streams.hub import StreamHub
from generation_app.streams.queries import OPEN, StreamNotFound, StreamRow, chunks_from, has_chunk
from sessions_app.core.errors import Invalid
from sessions_app.core.web.responses import without_content

# Key in `request.META` of what is called with a request and what it follows.
FOLLOWS = "stillhere.follows"
LAST_EVENT_ID = "Last-Event-ID"
FORMATS = ("ai-sdk", "openai")
PING = b": ping\n\n"
logger = logging.getLogger(__name__)


class UnknownStreamFormat(Invalid):
    code = "unknown_format"

    def __init__(self) -> None:
        super().__init__("`as` is `ai-sdk` or `openai`, or left out.", details={"field": "as", "formats": list(FORMATS)})


class CutOff(ConnectionError):
    """The server ends before the stream does, its database is away, or chunks were dropped that the reader has not got. The
    response then ends with its connection: some clients take one that ends as HTTP ends it for a whole answer."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A stream from the chunk number `offset` on. `as_`: None for the chunks as they are. `of_session`: it is read as its
    session's, which has another one later."""

    stream: StreamRow
    offset: int
    as_: str | None
    of_session: bool = False

    def format(self) -> Format:
        if self.as_ == "ai-sdk":
            return AiSdk(self.stream.message_id)
        if self.as_ == "openai":
            return OpenAi(str(self.stream.id))
        return Plain(f"{self.stream.id}:" if self.of_session else "")


def place_of(request: HttpRequest, stream_id: uuid.UUID | None, offset: int | None, as_: str | None) -> int:
    """Where the reader begins: after the last event that it has of this stream, or at `offset`, or at the first chunk.

    What is converted has no numbers, so it always begins at the first chunk. Raises Invalid.
    """
    if as_ is not None and as_ not in FORMATS:
        raise UnknownStreamFormat
    if as_ is not None:
        if offset:
            raise Invalid("With `as` a stream is read from its beginning: leave out `offset`.", details={"field": "offset"})
        return 0
    last = request.headers.get(LAST_EVENT_ID, "").removeprefix(f"{stream_id}:")
    if last.isascii() and last.isdigit() and len(last) < 16:
        return int(last) + 1
    return offset or 0


def follow(request: HttpRequest, followed: Followed | None) -> HttpResponse:
    """The response; 204 if nothing streams, or if the reader has all of a stream that has ended. Raises StreamNotFound: the
    chunks that come next were dropped."""
    if followed is None or _is_over(request, followed):
        return _headers(without_content(204))
    stream = followed.stream
    if not stream.is_open and followed.offset < stream.count and not has_chunk(stream.id, followed.offset):
        raise StreamNotFound
    follows = request.META.get(FOLLOWS)
    if follows is not None:
        follows(request, followed)
        return _headers(HttpResponse(content_type="text/event-stream"), followed)
    return _headers(HttpResponse(b"".join(_present(followed)), content_type="text/event-stream"), followed)


async def written(live: StreamHub, followed: Followed) -> AsyncGenerator[bytes]:
    """The response's content, until the stream ends. Raises CutOff."""
    form, number, stream_id = followed.format(), followed.offset, followed.stream.id
    with live.watch(stream_id) as watched:
        try:
            async with aclosing(live.read(stream_id, followed.offset)) as lists:
                async for chunks in lists:
                    yield b"".join(form.chunk(number + at, text) for at, text in enumerate(chunks)) or PING
                    number += len(chunks)
        except Error as error:
            logger.warning("a reader of a stream was cut off: %s", type(error).__name__)
            raise CutOff from error
        if watched.state == OPEN or number < watched.count:
            raise CutOff
        yield form.end(watched.state)


def _is_over(request: HttpRequest, followed: Followed) -> bool:
    """A client that resumes a stream after its end would show it twice, or ask for ever: 204 tells it to stop."""
    stream = followed.stream
    if stream.is_open:
        return False
    return followed.as_ == "ai-sdk" or (LAST_EVENT_ID in request.headers and followed.offset >= stream.count)


def _present(followed: Followed) -> Iterator[bytes]:
    form, number = followed.format(), followed.offset
    while found := chunks_from(followed.stream.id, number):
        yield from (form.chunk(number + at, text) for at, text in enumerate(found))
        number += len(found)
    if not followed.stream.is_open and number >= followed.stream.count:
        yield form.end(followed.stream.state)


def _headers(reply: HttpResponse, followed: Followed | None = None) -> HttpResponse:
    reply["Cache-Control"] = "no-store"
    if followed is not None:
        reply["X-Accel-Buffering"] = "no"
        reply["Stillhere-Stream"] = str(followed.stream.id)
        if followed.as_ == "ai-sdk":
            reply["x-vercel-ai-ui-message-stream"] = "v1"
    return reply


def project_of(followed: Followed) -> tuple[uuid.UUID, str]:
    return followed.stream.project_id, followed.stream.project_path
