"""Files of imports and of chats: too large for a request's memory, so they are written to an unnamed file as they arrive.

The credentials, the rates and the quota are checked first: the list at the same address is read for that (`Announced`), and if
it is refused, its response is returned. So only who may upload a file can fill the disk, and no account takes all places.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from django.conf import settings

from config.http.refusals import refuse
from config.http.request_log import HEADER, RECORD, Message, RequestRecord, Send
from sessions_app.core.errors import AppError, BadRequest, InsufficientStorage, TooLarge, TooMany, Unavailable
from sessions_app.core.limits.request_limits import ANNOUNCED, IMPORTED, WRITTEN, Announced
from sessions_app.core.storage.durable_files import FULL

Receive = Callable[[], Awaitable[Message]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
# Scope key of the file that is the request's body.
UPLOAD = "stillhere.upload"
# Without data for so long the sender counts as disconnected.
SILENT_SECONDS = 60
# And a body may take that long altogether, and a second more for each of these.
RATE_BYTES = 16_000
# A form has some lines beside its file.
FORM_BYTES = 20_000
logger = logging.getLogger(__name__)


class TooSlow(BadRequest):
    code, message = "body_too_slow", "The request's body took too long to arrive."


class FileTooLarge(TooLarge):
    def __init__(self, limit: int) -> None:
        super().__init__(f"A file has at most {limit:,} bytes here.", code="body_too_large", details={"limit": limit})


class TooManyUploads(TooMany):
    code = "too_many_uploads"

    def __init__(self, share: int) -> None:
        message = f"{share} of your files are arriving here already. Wait until one has ended."
        super().__init__(message, details={"limit": share}, retry_after=5)


@dataclass
class Address:
    """Where files are sent. `setting`: names the largest body, without `extra` bytes of a form.

    `most`: how many may arrive at once, half of them of one account; `stored_at_once`: how many of them occupy a thread;
    `counted`: what their bytes count as.
    """

    path: re.Pattern[str]
    setting: str
    most: int
    stored_at_once: int
    extra: int = 0
    counted: str = WRITTEN
    running: Counter[int] = field(default_factory=Counter)
    storing: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self.storing = asyncio.Semaphore(self.stored_at_once)

    @property
    def limit(self) -> int:
        return int(getattr(settings, self.setting)) + self.extra

    @contextmanager
    def place(self, user_id: int) -> Iterator[None]:
        """Raises Unavailable or TooManyUploads."""
        if self.running.total() >= self.most:
            raise Unavailable(code="busy", retry_after=5)
        if self.running[user_id] >= (share := self.most // 2):
            raise TooManyUploads(share)
        self.running[user_id] += 1
        try:
            yield
        finally:
            self.running -= Counter([user_id])


class Uploads:
    """Wraps `application` for these addresses."""

    def __init__(self, application: Application) -> None:
        self._application = application
        chat_files, imports = re.compile(r"/api/v1/sessions/[^/]+/files"), re.compile(r"/api/v1/imports")
        self._addresses = (
            Address(imports, "MAX_IMPORT_BYTES", most=2, stored_at_once=2, counted=IMPORTED),
            Address(chat_files, "MAX_FILE_BYTES", most=16, stored_at_once=4, extra=FORM_BYTES),
        )

    def takes(self, scope: Message) -> bool:
        return bool(scope["method"] == "POST" and self._address(scope) is not None)

    def _address(self, scope: Message) -> Address | None:
        return next((one for one in self._addresses if one.path.fullmatch(scope["path"])), None)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request to its sender, so one line of the log and one id, whatever requests are made of it here."""
        exchange = RequestRecord(scope, send, on_start=lambda: None)
        try:
            await self._answer(scope, receive, exchange)
        except Exception:
            logger.exception("an upload failed outside of Django")
            if not exchange.started:
                await refuse(AppError(details={"request_id": exchange.id}), exchange.send, scope)
        finally:
            exchange.tell()

    async def _answer(self, scope: Message, receive: Receive, exchange: RequestRecord) -> None:
        # These describe the body, which the requests made here do not have.
        headers = [(name, value) for name, value in scope["headers"] if name not in {b"content-length", b"transfer-encoding"}]
        declared, address = _declared(scope), self._address(scope)
        if address is None:
            raise AssertionError
        # What is too large is refused as such.
        announced = Announced(declared if declared <= address.limit else 0, address.counted)
        scope = {**scope, "headers": headers, ANNOUNCED: announced}
        user_id = await self._sender(scope, announced, exchange)
        if user_id is None:
            return
        exchange.known(exchange.route(), user_id)
        try:
            with address.place(user_id), TemporaryFile(dir=str(settings.DATA_DIR)) as file:
                await self._take(receive, file, address, declared, exchange)
                async with address.storing:
                    await self._application({**scope, UPLOAD: file, RECORD: exchange}, after_body(receive), exchange.send)
        except AppError as error:
            with suppress(ConnectionError):
                await refuse(error, exchange.send, scope)
        except OSError as error:
            if error.errno in FULL:  # The disk of this file, which is not yet the storage's.
                await refuse(InsufficientStorage(), exchange.send, scope)
            elif not isinstance(error, ConnectionError):
                raise
            # The sender disconnected before the file was complete.

    async def _sender(self, scope: Message, announced: Announced, exchange: RequestRecord) -> int | None:
        """The id of the user who may send this; None: the refusal was sent."""
        asked = {**scope, "method": "GET", "query_string": b"limit=1"}
        told: list[Message] = []

        async def keep(message: Message) -> None:
            told.append(message)

        asking = RequestRecord(asked, keep, on_start=lambda: None)
        asking.id = exchange.id
        await self._application({**asked, RECORD: asking}, after_body(None), keep)
        # Without a user it is a redirect to https.
        if told[0]["status"] < 400 and announced.user_id is not None:
            return announced.user_id
        headers = [(name, value) for name, value in told[0]["headers"] if name != HEADER]
        await exchange.answer(told[0]["status"], headers, b"".join(message.get("body", b"") for message in told))
        return None

    async def _take(self, receive: Receive, file: BinaryIO, address: Address, declared: int, exchange: RequestRecord) -> None:
        if declared > address.limit:
            raise FileTooLarge(address.limit)
        loop = asyncio.get_running_loop()
        size, more, began = 0, True, loop.time()
        while more:
            message = await _next(receive)
            if loop.time() - began > SILENT_SECONDS + size / RATE_BYTES:
                raise TooSlow
            piece = message.get("body", b"")
            size += len(piece)
            exchange.received_bytes = size
            if size > address.limit:
                raise FileTooLarge(address.limit)
            await asyncio.to_thread(file.write, piece)
            more = message.get("more_body", False)
        await asyncio.to_thread(file.seek, 0)


def _declared(scope: Message) -> int:
    """The length that the sender announces; 0 if none. What arrives is counted anyway."""
    value = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(value) if value.isdigit() else 0


async def _next(receive: Receive) -> Message:
    try:
        message = await asyncio.wait_for(receive(), SILENT_SECONDS)
    except TimeoutError:
        raise TooSlow from None
    if message["type"] == "http.disconnect":
        raise ConnectionError
    return message


def after_body(receive: Receive | None) -> Receive:
    """Receives an empty body in place of the one that was taken, then the messages of the real channel, if there is one."""
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
    """For the WSGI view of a scope: what an upload is known by, and its file in place of the body, if there is one."""
    known = {ANNOUNCED: scope[ANNOUNCED]} if ANNOUNCED in scope else {}
    file: BinaryIO | None = scope.get(UPLOAD)
    if file is None:
        return known
    size = file.seek(0, 2)
    file.seek(0)
    return {**known, "wsgi.input": file, "CONTENT_LENGTH": str(size)}
