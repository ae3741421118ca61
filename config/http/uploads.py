"""Files for an import: too large for a request's memory, so they are written to an unnamed file as they arrive.

The credentials are checked first: the list of imports is read with them, and if that is refused, its response is returned.
So nobody without an account can fill the disk.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from django.conf import settings

from config.http.refusals import refuse
from config.http.request_log import Message, Send
from sessions_app.core.errors import AppError, BadRequest, TooLarge, Unavailable

Receive = Callable[[], Awaitable[Message]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
PATH = "/api/v1/imports"
# Scope key of the file that is the request's body.
UPLOAD = "stillhere.upload"
AT_ONCE = 2
# Without data for so long the sender counts as disconnected.
SILENT_SECONDS = 60


class FileTooLarge(TooLarge):
    def __init__(self, limit: int) -> None:
        super().__init__(f"An import's file has at most {limit} bytes.", code="body_too_large", details={"limit": limit})


class Uploads:
    """Wraps `application` for one address."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._running = 0

    def takes(self, scope: Message) -> bool:
        return bool(scope["method"] == "POST" and scope["path"] == PATH)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        # These describe the body, which the requests made here do not have.
        headers = [(name, value) for name, value in scope["headers"] if name not in {b"content-length", b"transfer-encoding"}]
        scope = {**scope, "headers": headers}
        if await self._is_refused(scope, send):
            return
        self._running += 1
        try:
            with TemporaryFile(dir=str(settings.DATA_DIR)) as file:
                await self._take(receive, file, self._running)
                await self._application({**scope, UPLOAD: file}, _empty(receive), send)
        except AppError as error:
            with suppress(ConnectionError):
                await refuse(error, send, scope)
        except ConnectionError:
            pass  # The sender disconnected before the file was complete.
        finally:
            self._running -= 1

    async def _is_refused(self, scope: Message, send: Send) -> bool:
        asked = {**scope, "method": "GET", "query_string": b"limit=1"}
        told: list[Message] = []

        async def keep(message: Message) -> None:
            told.append(message)

        await self._application(asked, _empty(None), keep)
        # A key that may only write can import; it may not read the list.
        content = b"".join(message.get("body", b"") for message in told)
        if told[0]["status"] < 400 or b'"missing_scope"' in content:
            return False
        for message in told:
            await send(message)
        return True

    async def _take(self, receive: Receive, file: BinaryIO, running: int) -> None:
        if running > AT_ONCE:
            raise Unavailable(code="busy", retry_after=5)
        size, more = 0, True
        while more:
            message = await _next(receive)
            piece = message.get("body", b"")
            size += len(piece)
            if size > settings.MAX_IMPORT_BYTES:
                raise FileTooLarge(settings.MAX_IMPORT_BYTES)
            await asyncio.to_thread(file.write, piece)
            more = message.get("more_body", False)
        await asyncio.to_thread(file.seek, 0)


async def _next(receive: Receive) -> Message:
    try:
        message = await asyncio.wait_for(receive(), SILENT_SECONDS)
    except TimeoutError:
        raise BadRequest("The request's body took too long to arrive.", code="body_too_slow") from None
    if message["type"] == "http.disconnect":
        raise ConnectionError
    return message


def _empty(receive: Receive | None) -> Receive:
    """Receives an empty body, then the messages of the real channel, if there is one."""
    given: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def give() -> Message:
        if given:
            return given.pop()
        if receive is None:
            await asyncio.Event().wait()
            raise AssertionError
        return await receive()

    return give


def body_of(scope: Message) -> dict[str, Any]:
    """For the WSGI view of a scope: the file in place of the body, if there is one."""
    file: BinaryIO | None = scope.get(UPLOAD)
    if file is None:
        return {}
    size = file.seek(0, 2)
    file.seek(0)
    return {"wsgi.input": file, "CONTENT_LENGTH": str(size)}
