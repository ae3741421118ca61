"""Many sockets to `/ws/events/` in one process: RFC 6455 as far as a listener needs it, so that the client costs little."""

import asyncio
import base64
import resource
import secrets
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import uvloop

from benchmarks.support.http_client import HEAD_END, WrongAnswer

AT_ONCE = 100
# Files that are open besides sockets.
SPARE_FILES = 300
# A client that sends nothing gets live events after this.
HOLD_SECONDS = 0.5
UNLOGGED = (b'"HEARTBEAT"', b'"RESYNC"')
TEXT, CLOSE, PING = 1, 8, 9
PONG = bytes([0x8A, 0x80, 0, 0, 0, 0])


def run[T](work: Coroutine[Any, Any, T]) -> T:
    """On a loop that costs as little as the server's."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def allowed_sockets(wanted: int) -> int:
    """Raises the limit of open files for this process and the servers that it starts; says so if it does not suffice."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE_FILES
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft < needed:
        print(f"{wanted:,} sockets are cut to {soft - SPARE_FILES:,}: RLIMIT_NOFILE is {hard:,}", file=sys.stderr)
    return min(wanted, soft - SPARE_FILES)


def resident_kb(pid: int) -> int:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1_000


class Listener(asyncio.Protocol):
    """One socket. `heard` gets each logged event's frame and when it arrived."""

    def __init__(self, request: bytes, heard: Callable[[bytes, float], None]) -> None:
        self._request, self._heard = request, heard
        self._buffer = b""
        self.accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        self._buffer += data
        if not self.open and not self._accept():
            return
        while (frame := self._next_frame()) is not None:
            kind, content = frame
            if kind == PING:  # Those of the server carry nothing.
                self._transport.write(PONG)
            elif kind == CLOSE:
                self._transport.close()
            elif not any(sign in content for sign in UNLOGGED):
                self._heard(content, now)

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False
        if not self.accepted.done():
            self.accepted.set_exception(exc or WrongAnswer("a socket was closed before it was accepted"))

    def close(self) -> None:
        self._transport.close()

    def _accept(self) -> bool:
        head, end, rest = self._buffer.partition(HEAD_END)
        if not end:
            return False
        if not head.startswith(b"HTTP/1.1 101"):
            self.accepted.set_exception(WrongAnswer(f"a socket was refused: {head[:200]!r}"))
            return False
        self._buffer, self.open = rest, True
        self.accepted.set_result(None)
        return True

    def _next_frame(self) -> tuple[int, bytes] | None:
        """Its kind and content; the server's frames are whole and unmasked."""
        if len(self._buffer) < 2:
            return None
        size, start = self._buffer[1], 2
        if size >= 126:
            start = 4 if size == 126 else 10
            size = int.from_bytes(self._buffer[2:start])
        if len(self._buffer) < start + size:
            return None
        kind, content = self._buffer[0] & 0x0F, self._buffer[start : start + size]
        self._buffer = self._buffer[start + size :]
        return kind, content


async def listen(port: int, key: str, project: str, count: int, heard: Callable[[bytes, float], None]) -> list[Listener]:
    """So many sockets on a project's events, all accepted."""
    request = _handshake(port, key, project)
    loop = asyncio.get_running_loop()
    opened: list[Listener] = []
    while len(opened) < count:
        some = [
            loop.create_connection(lambda: Listener(request, heard), "127.0.0.1", port)
            for _ in range(min(AT_ONCE, count - len(opened)))
        ]
        listeners = [listener for _, listener in await asyncio.gather(*some)]
        await asyncio.gather(*(listener.accepted for listener in listeners))
        opened += listeners
    return opened


@contextmanager
def closing(listeners: list[Listener]) -> Iterator[None]:
    try:
        yield
    finally:
        for listener in listeners:
            listener.close()


def _handshake(port: int, key: str, project: str) -> bytes:
    lines = [
        f"GET /ws/events/?project={quote(project)} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(secrets.token_bytes(16)).decode()}",
        f"Authorization: Bearer {key}",
    ]
    return "\r\n".join(lines).encode() + HEAD_END
