"""Minimal HTTP/1.1 with keep-alive, so that the client costs little compared with the measured server."""

import asyncio
import contextlib
import gc
import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

ROOM = 1_048_576
HEAD_END = b"\r\n\r\n"


class WrongAnswer(Exception):
    """An unexpected response: figures from refusals would be worthless."""


@dataclass(frozen=True, slots=True)
class Head:
    status: int
    start: int
    total: int


def request_bytes(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + HEAD_END + body


def read_head(buffer: bytearray, end: int) -> Head | None:
    """Status and sizes of the answer at the beginning of `buffer`, once its head is there."""
    start = buffer.find(HEAD_END, 0, end)
    if start < 0:
        return None
    start += len(HEAD_END)
    length = 0
    for line in bytes(buffer[:start]).split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return Head(int(buffer[9:12]), start, start + length)


class Wire:
    """One connection, one request at a time, blocking: for preparing, and for the latency that a single client sees."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray(ROOM)

    def send(self, request: bytes) -> bytes:
        """The answer's body."""
        self._socket.sendall(request)
        return self._receive()

    def _receive(self) -> bytes:
        end, head = 0, None
        while head is None or end < head.total:
            if end == len(self._buffer):
                self._buffer.extend(bytes(ROOM))
            received = self._socket.recv_into(memoryview(self._buffer)[end:])
            if not received:
                raise WrongAnswer("the server closed the connection")
            end += received
            head = head or read_head(self._buffer, end)
        body = bytes(self._buffer[head.start : head.total])
        if head.status >= 400:
            raise WrongAnswer(f"{head.status} {body[:500]!r}")
        return body

    def etag(self, request: bytes) -> str:
        """The version (`ETag`) of the response."""
        self.send(request)
        head = bytes(self._buffer).partition(HEAD_END)[0].decode("latin-1")
        named = dict(line.partition(": ")[::2] for line in head.split("\r\n")[1:])
        return next(value for name, value in named.items() if name.lower() == "etag")

    def json(self, request: bytes) -> Any:
        return json.loads(self.send(request) or b"null")

    def seconds(self, request: bytes) -> float:
        """Seconds until the complete response."""
        began = time.perf_counter()
        self.send(request)
        return time.perf_counter() - began

    def first_byte_seconds(self, request: bytes) -> float:
        """Seconds until the response began; it is read to its end."""
        began = time.perf_counter()
        self._socket.sendall(request)
        self._socket.recv(1, socket.MSG_PEEK)
        took = time.perf_counter() - began
        self._receive()
        return took

    def close(self) -> None:
        self._socket.close()


class _Client(asyncio.BufferedProtocol):
    """Sends its next request as soon as the last one is answered, until the time is over."""

    def __init__(self, next_request: Callable[[], bytes], until: float, ended: "asyncio.Future[None]") -> None:
        self._next, self._until, self._ended = next_request, until, ended
        self._buffer = bytearray(ROOM)
        self._view = memoryview(self._buffer)
        self._end = 0
        self._head: Head | None = None
        self.answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._next())

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        self._end += nbytes
        if self._head is None:
            self._head = read_head(self._buffer, self._end)
        if self._head is None or self._end < self._head.total:
            return
        if self._head.status >= 400:
            body = bytes(self._buffer[self._head.start : self._head.start + 500])
            self._finish(WrongAnswer(f"{self._head.status} {body!r}"))
            return
        self.answered += 1
        if time.perf_counter() >= self._until:
            self._finish(None)
        else:
            self._end, self._head = 0, None
            self._transport.write(self._next())

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(exc or WrongAnswer("the server closed the connection"))

    def _finish(self, error: Exception | None) -> None:
        if not self._ended.done():
            self._ended.set_exception(error) if error else self._ended.set_result(None)
        self._transport.close()


def per_second(port: int, sources: Sequence[Callable[[], bytes]], seconds: float) -> float:
    """Responses per second with one client for each of `sources`, all at the same time.

    Each client waits for its last response, also if that comes after `seconds`: a slow server has a low rate, not none.
    """
    return asyncio.run(_per_second(port, sources, seconds))


async def _per_second(port: int, sources: Sequence[Callable[[], bytes]], seconds: float) -> float:
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    until = began + seconds
    clients: list[_Client] = []
    ends: list[asyncio.Future[None]] = []

    def connect(source: Callable[[], bytes]) -> Callable[[], _Client]:
        ends.append(loop.create_future())
        client = _Client(source, until, ends[-1])
        clients.append(client)
        return lambda: client

    with without_gc():
        await asyncio.gather(*(loop.create_connection(connect(source), "127.0.0.1", port) for source in sources))
        await asyncio.gather(*ends)
        took = time.perf_counter() - began
    return sum(client.answered for client in clients) / took


@contextlib.contextmanager
def without_gc() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
