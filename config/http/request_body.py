"""Reads request bodies. Bodies that are slow, too large or too many are refused before they delay other requests."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable

from django.conf import settings

from config.http.request_log import Message
from sessions_app.core.errors import BadRequest, TooLarge, TooMany, Unavailable
from sessions_app.core.web.client_address import client_address, network_of

Receive = Callable[[], Awaitable[Message]]
IMPORT = "/api/v1/import"
# The time for a body, and a second more for each RATE_BYTES received.
UPLOAD_SECONDS = 20
RATE_BYTES = 16_000
# Incomplete bodies. Above this the slowest one is ended, so a fast client always gets through.
MOST_FROM_ONE_NETWORK = 100
MOST_ARRIVING = 1_000
# A body up to this size costs less than its connection. Larger ones may hold this much together.
SMALL_BYTES = 65_536
LARGE_BODIES_BYTES = 40_000_000
# This much is parsed and stored at the same time: meanwhile a body takes many times its size.
AT_WORK_BYTES = 5_000_000


class BodyTooLarge(TooLarge):
    def __init__(self, limit: int, path: str) -> None:
        hint = "Send a larger file to POST /api/v1/imports." if path == IMPORT else "Split it."
        super().__init__(f"A request has at most {limit:,} bytes. {hint}", code="body_too_large", details={"limit": limit})


class BodyTooSlow(BadRequest):
    code, message = "body_too_slow", "The request's body took too long to arrive."


class TooManyUploads(TooMany):
    code, message = "too_many_uploads", "Too many requests are still being sent from your network. Try again shortly."


class Busy(Unavailable):
    code, message = "busy", "The server is at its limit of requests. Try again shortly."


class Upload:
    """One body, from its first byte until its request is answered."""

    __slots__ = ("at_work_bytes", "began", "displaced", "held_bytes", "network", "received_bytes", "timeout")

    def __init__(self, scope: Message) -> None:
        self.network = network_of(_address(scope))
        self.began = asyncio.get_running_loop().time()
        self.received_bytes = self.held_bytes = self.at_work_bytes = 0
        self.displaced = False
        self.timeout: asyncio.Timeout | None = None

    def speed(self, now: float) -> float:
        """Bytes per second. A body that has just begun counts as fast."""
        return (self.received_bytes + SMALL_BYTES) / (now - self.began + 0.1)

    def occupation(self, now: float) -> float:
        """The seconds for which it has taken memory. A body just above SMALL_BYTES counts half."""
        return self.held_bytes / self.speed(now)


class RequestBodies:
    """All bodies of one process. Used on the event loop's thread only."""

    def __init__(self, *, max_body_bytes: int) -> None:
        self._max_body_bytes = max_body_bytes
        self._most_bytes = max(LARGE_BODIES_BYTES, 2 * max_body_bytes)
        self._held_bytes = self._count = 0
        self._arriving: defaultdict[str, set[Upload]] = defaultdict(set)
        self._at_work = ByteGate(max(AT_WORK_BYTES, max_body_bytes))

    async def read(self, upload: Upload, scope: Message, receive: Receive) -> bytes:
        """Returns the complete body. Its memory counts until `release`."""
        if (declared := _declared_length(scope)) is not None and declared > self._max_body_bytes:
            raise BodyTooLarge(self._max_body_bytes, scope["path"])
        self._begin(upload)
        try:
            async with asyncio.timeout(UPLOAD_SECONDS) as upload.timeout:
                return await self._collect(upload, scope, receive)
        except TimeoutError:
            raise (TooManyUploads(retry_after=1) if upload.displaced else BodyTooSlow()) from None
        finally:
            self._end(upload)

    async def begin_work(self, upload: Upload) -> None:
        """Waits until there is room to parse it. A small one never waits."""
        if upload.received_bytes > SMALL_BYTES:
            upload.at_work_bytes = await self._at_work.enter(upload.received_bytes)

    def end_work(self, upload: Upload) -> None:
        if upload.at_work_bytes:
            self._at_work.leave(upload.at_work_bytes)
            upload.at_work_bytes = 0

    def release(self, upload: Upload) -> None:
        self.end_work(upload)
        self._held_bytes -= upload.held_bytes
        upload.held_bytes = 0

    async def _collect(self, upload: Upload, scope: Message, receive: Receive) -> bytes:
        message = await receive()
        pieces = [self._take(upload, message, scope)]
        while message.get("more_body"):
            message = await receive()
            pieces.append(self._take(upload, message, scope))
            if upload.timeout is not None and not upload.displaced:
                upload.timeout.reschedule(upload.began + UPLOAD_SECONDS + upload.received_bytes / RATE_BYTES)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _take(self, upload: Upload, message: Message, scope: Message) -> bytes:
        """Counts each piece of a body on arrival, not only complete bodies: otherwise slow senders could fill the memory."""
        if message["type"] == "http.disconnect":
            raise ConnectionError
        piece: bytes = message.get("body", b"")
        upload.received_bytes += len(piece)
        if upload.received_bytes > self._max_body_bytes:
            raise BodyTooLarge(self._max_body_bytes, scope["path"])
        if upload.received_bytes > SMALL_BYTES and not upload.displaced:
            self._hold(upload)
        return piece

    def _hold(self, upload: Upload) -> None:
        self._held_bytes += upload.received_bytes - upload.held_bytes
        upload.held_bytes = upload.received_bytes
        while self._held_bytes > self._most_bytes:
            # Not the slowest: a save that has just begun would be slower than large bodies that stopped a moment ago.
            now = asyncio.get_running_loop().time()
            large = [one for uploads in self._arriving.values() for one in uploads if one.held_bytes]
            longest = max(large, key=lambda one: one.occupation(now), default=None)
            if longest is None or longest is upload:
                raise Busy(retry_after=1)
            self._displace(longest)

    def _begin(self, upload: Upload) -> None:
        own = self._arriving[upload.network]
        if len(own) >= MOST_FROM_ONE_NETWORK:
            self._displace(self._slowest(own))
        elif self._count >= MOST_ARRIVING:
            self._displace(self._slowest(max(self._arriving.values(), key=len)))
        self._arriving[upload.network].add(upload)
        self._count += 1

    def _end(self, upload: Upload) -> None:
        own = self._arriving.get(upload.network)
        if own is None or upload not in own:
            return
        own.remove(upload)
        self._count -= 1
        if not own:
            del self._arriving[upload.network]

    def _displace(self, upload: Upload | None) -> None:
        """Ends it: its own task raises TooManyUploads as soon as it runs."""
        if upload is None:
            return
        self._end(upload)
        self.release(upload)
        upload.displaced = True
        if upload.timeout is not None and not upload.timeout.expired():
            upload.timeout.reschedule(0)

    def _slowest(self, uploads: "set[Upload] | list[Upload]") -> Upload | None:
        now = asyncio.get_running_loop().time()
        return min(uploads, key=lambda upload: upload.speed(now), default=None)


class ByteGate:
    """Limits the bytes of large bodies that are processed at the same time; the others wait in order."""

    def __init__(self, most: int) -> None:
        self._most = self._free = most
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def enter(self, size: int) -> int:
        """Returns the number to pass to `leave`."""
        size = min(size, self._most)
        if size <= self._free and not self._waiting:
            self._free -= size
            return size
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(size)
            raise
        return size

    def leave(self, size: int) -> None:
        self._free += size
        while self._waiting and (self._waiting[0][1].done() or self._waiting[0][0] <= self._free):
            wanted, turn = self._waiting.popleft()
            if not turn.done():
                self._free -= wanted
                turn.set_result(None)


def _declared_length(scope: Message) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None


def _address(scope: Message) -> str:
    peer: str = (scope.get("client") or ("", 0))[0]
    if not settings.TRUSTED_PROXIES:
        return peer
    forwarded = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for")
    return client_address(peer=peer, forwarded=forwarded.decode("latin-1"))
