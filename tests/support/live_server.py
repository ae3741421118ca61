"""The server inside the test's own process: real HTTP and sockets, and the test sees the same rows."""

import asyncio
import socket
import threading
import time
from types import TracebackType
from typing import Any, Self

import uvicorn

from config.http.asgi import make_application
from config.server.startup import SOCKET_PROTOCOL

START_SECONDS = 10
TICK_SECONDS = 0.01


class QuickServer(uvicorn.Server):
    """It ends as uvicorn's own does, which looks ten times a second whether it is to end and whether it may: half of the time of
    a short test."""

    async def main_loop(self) -> None:
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 1
            for _ in range(10):
                await asyncio.sleep(0 if self.should_exit else TICK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for listening in sockets or []:
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:
            await asyncio.sleep(TICK_SECONDS)
        for server in self.servers:
            await server.wait_closed()
        await self.lifespan.shutdown()


class LiveServer:
    """`http`: another protocol than uvicorn's own. `port`: that of a server that ended; 0: any."""

    def __init__(self, *, http: Any = "auto", port: int = 0) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", port))
        self.host = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.url = f"http://{self.host}"
        configuration = uvicorn.Config(
            make_application(), log_config=None, access_log=False, http=http, ws=SOCKET_PROTOCOL, lifespan="on"
        )
        self._server = QuickServer(configuration)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    @property
    def waits_to_be_taken(self) -> list[int]:
        """For each connection the bytes that its client has not read, without those that the kernels hold."""
        return [one.transport.get_write_buffer_size() for one in list(self._server.server_state.connections)]

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started:
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise AssertionError("The server does not start.")
            time.sleep(0.01)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
