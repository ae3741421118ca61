"""Connections that stay open between requests: of threads, and of an event loop."""

import asyncio
import select
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple, cast

import httpx

from stillhere.http.answers import Answer, Reading, request_bytes
from stillhere.http.connecting import connected, while_answered, while_connecting
from stillhere.http.forks import renew_in_forks
from stillhere.http.given_up import GivenUp

PIECE = 262_144
# So much of a request an event loop is given at a time. What is with it already is not seen to go on.
WRITTEN = 65_536
# Servers close a connection that is silent for longer.
IDLE_SECONDS, MOST_IDLE = 4.0, 20


class Server:
    """`url`: with a path before each target, or without. Raises ValueError for one that is no URL of HTTP."""

    def __init__(self, url: str) -> None:
        shown = "." if "@" in url else f": {url}"  # It may have a password.
        wrong = ValueError(f"`url` begins with http:// or https:// and a name, and has no query{shown}")
        try:
            parsed = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise wrong from error
        if parsed.scheme not in {"http", "https"} or not parsed.host or parsed.query:
            raise wrong
        if parsed.userinfo:  # It would take the place of the key in some requests.
            raise ValueError("`url` has a user or a password. Leave them out: the key alone is sent.")
        self.host, self.secure = parsed.raw_host.decode("ascii"), parsed.scheme == "https"
        self.port = parsed.port or (443 if self.secure else 80)
        self._prefix = parsed.raw_path.decode("ascii").rstrip("/")
        self._named = parsed.netloc.decode("ascii")

    @cached_property
    def context(self) -> ssl.SSLContext | None:
        """Made once: it reads the system's certificates, which takes longer than a request."""
        return httpx.create_ssl_context() if self.secure else None

    def request(self, method: str, target: str, headers: Mapping[str, str], content: bytes | None) -> bytes:
        return request_bytes(method, self._prefix + target, {"Host": self._named, **headers}, content)


class _Idle[C](NamedTuple):
    connection: C
    since: float

    @property
    def fresh(self) -> bool:
        return time.monotonic() - self.since < IDLE_SECONDS


class Wires:
    """For threads."""

    def __init__(self, server: Server, timeout: float) -> None:
        self._server, self._timeout = server, timeout
        self._idle: list[_Idle[socket.socket]] = []
        renew_in_forks(self)

    def send(
        self, method: str, target: str, headers: Mapping[str, str], content: bytes | None, given_up: GivenUp | None = None
    ) -> Answer:
        """Raises httpx.TransportError."""
        request = self._server.request(method, target, headers, content)
        given_up = given_up or GivenUp()
        connection = self._taken() or self._connected(given_up)
        try:
            with while_answered(), given_up.over(connection):
                reading, is_sent = Reading(), False
                # A server may answer and close the connection before it has read a body that is too long.
                with suppress(BrokenPipeError, ConnectionResetError):
                    _send_all(connection, request)
                    is_sent = True
                while (answer := reading.take(connection.recv(PIECE))) is None:
                    pass
        except BaseException:
            connection.close()
            raise
        self._keep(connection, reusable=is_sent and reading.reusable)
        return answer

    def close(self) -> None:
        while self._idle:
            self._idle.pop().connection.close()

    def renew(self) -> None:
        """In a forked process. To close its copies of sockets says nothing to the server: the parent still has them open."""
        self.close()

    def _keep(self, connection: socket.socket, *, reusable: bool) -> None:
        if reusable and len(self._idle) < MOST_IDLE:
            self._idle.append(_Idle(connection, time.monotonic()))
        else:
            connection.close()

    def _taken(self) -> socket.socket | None:
        while self._idle:
            try:
                idle = self._idle.pop()
            except IndexError:  # Another thread took it.
                return None
            if idle.fresh and not _readable(idle.connection):
                return idle.connection
            idle.connection.close()
        return None

    def _connected(self, given_up: GivenUp) -> socket.socket:
        server = self._server
        return connected(server.host, server.port, server.context, self._timeout, given_up)


class AsyncWires:
    """For one event loop."""

    def __init__(self, server: Server, timeout: float) -> None:
        self._server, self._timeout = server, timeout
        self._idle: list[_Idle[_Line]] = []
        self._closed = False

    async def send(self, method: str, target: str, headers: Mapping[str, str], content: bytes | None) -> Answer:
        """Raises httpx.TransportError."""
        request = self._server.request(method, target, headers, content)
        line = self._taken() or await self._connected()
        try:
            with while_answered():
                answer = await line.send(request, self._timeout)
        except BaseException:
            line.transport.abort()
            raise
        if line.reusable and not self._closed and len(self._idle) < MOST_IDLE:
            self._idle.append(_Idle(line, time.monotonic()))
        else:
            line.transport.abort()
        return answer

    async def close(self) -> None:
        """Returns when the sockets are closed, which the loop does in its next rounds."""
        self._closed, lines = True, [idle.connection for idle in self._idle]
        self._idle.clear()
        for line in lines:
            line.transport.abort()
        for line in lines:
            await line.lost

    def _taken(self) -> "_Line | None":
        while self._idle:
            idle = self._idle.pop()
            if idle.fresh and idle.connection.reusable:
                return idle.connection
            idle.connection.transport.abort()
        return None

    async def _connected(self) -> "_Line":
        server, loop = self._server, asyncio.get_running_loop()
        with while_connecting():
            async with asyncio.timeout(self._timeout):
                _, line = await loop.create_connection(_Line, server.host, server.port, ssl=server.context)
        return line


class _Line(asyncio.Protocol):
    """One connection of an event loop, one request at a time. `reusable`: it may take another one."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.reusable = False
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reading = Reading()
        self._waiting: asyncio.Future[Answer] | None = None
        self._limit: asyncio.Timeout | None = None
        self._timeout = 0.0
        # Set while there is room for more of a request.
        self._room = asyncio.Event()

    async def send(self, request: bytes, timeout: float) -> Answer:
        """`timeout`: seconds until the next piece of the request is sent, or of the answer received."""
        self.reusable, self._reading, self._timeout = False, Reading(), timeout
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout) as self._limit:
                is_sent = await self._send_all(request)
                answer = await self._waiting
        finally:
            self._waiting.cancel()
        self.reusable = is_sent and self._reading.reusable and not self.transport.is_closing()
        return answer

    async def _send_all(self, request: bytes) -> bool:
        """False: the answer came before the end of the request, or the connection was lost."""
        left = memoryview(request)
        while left and self._waiting is not None and not self._waiting.done():
            self.transport.write(left[:WRITTEN])
            left = left[WRITTEN:]
            if not self._room.is_set():
                await self._room.wait()
                self._goes_on()
        return not left

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=WRITTEN)
        self._room.set()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.lost.done():  # Who waited for it may be cancelled.
            self.lost.set_result(None)
        if exc is not None:
            self._take_unread()
        if exc is None or self._waiting is None or self._waiting.done():
            self._take(b"")
        else:
            self._waiting.set_exception(exc)
        self._room.set()

    def _take_unread(self) -> None:
        """Writing met a reset before the loop looked for an answer, which the server may have sent before it closed."""
        if self.transport.get_extra_info("sslcontext") is not None:
            return  # These bytes are encrypted.
        named = self.transport.get_extra_info("socket")
        with suppress(OSError), socket.fromfd(named.fileno(), named.family, named.type) as unread:
            unread.setblocking(False)
            while self._waiting is not None and not self._waiting.done() and (received := unread.recv(PIECE)):
                self._take(received)

    def _take(self, received: bytes) -> None:
        if self._waiting is None or self._waiting.done():  # Nothing comes between two answers but the end.
            self.reusable = False
            return
        try:
            answer = self._reading.take(received)
        except httpx.RemoteProtocolError as error:
            self._waiting.set_exception(error)
            self._room.set()
            return
        if answer is not None:
            self._waiting.set_result(answer)
            self._room.set()
        else:
            self._goes_on()

    def _goes_on(self) -> None:
        if self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time() + self._timeout)


def _send_all(connection: socket.socket, request: bytes) -> None:
    """The timeout is that of each piece: with `sendall` it is that of the whole, however steadily the server reads."""
    left = memoryview(request)
    while left:
        left = left[connection.send(left[:PIECE]) :]


def _readable(connection: socket.socket) -> bool:
    """True of one that the server has closed, because nothing else is to be read between two answers."""
    if not hasattr(select, "poll"):
        return bool(select.select([connection], [], [], 0)[0])
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))
