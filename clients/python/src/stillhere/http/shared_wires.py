"""The connections of threads, for coroutines too."""

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from stillhere.http.answers import Answer, Reading
from stillhere.http.connecting import aconnected, while_answered
from stillhere.http.wires import PIECE, Server, Wires


class SharedWires(Wires):
    """Coroutines of any event loop send over connections that belong to none: those of a loop would end with it. The loop itself
    waits for the socket, so that no thread has to. It cannot with TLS, nor on Windows, where a socket is its first loop's."""

    def __init__(self, server: Server, timeout: float) -> None:
        super().__init__(server, timeout)
        self.serve_loops = not server.secure and os.name == "posix"

    async def asend(self, method: str, target: str, headers: Mapping[str, str], content: bytes | None) -> Answer:
        """Raises httpx.TransportError. If it is cancelled, the connection is closed: whether the request was done is unknown."""
        request = self._server.request(method, target, headers, content)
        if (connection := self._taken()) is None:
            connection = await aconnected(self._server.host, self._server.port, self._timeout)
        try:
            connection.settimeout(0)
            with while_answered():
                reading, is_sent = Reading(), False
                with suppress(BrokenPipeError, ConnectionResetError):
                    await self._asend_all(connection, request)
                    is_sent = True
                while (answer := reading.take(await self._areceived(connection))) is None:
                    pass
            connection.settimeout(self._timeout)
        except BaseException:
            connection.close()
            raise
        self._keep(connection, reusable=is_sent and reading.reusable)
        return answer

    async def _asend_all(self, connection: socket.socket, request: bytes) -> None:
        loop, left = asyncio.get_running_loop(), memoryview(request)
        while left:
            async with asyncio.timeout(self._timeout):
                await loop.sock_sendall(connection, left[:PIECE])
            left = left[PIECE:]

    async def _areceived(self, connection: socket.socket) -> bytes:
        async with asyncio.timeout(self._timeout):
            return await asyncio.get_running_loop().sock_recv(connection, PIECE)
