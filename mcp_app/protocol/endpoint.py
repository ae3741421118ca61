"""Requests of clients on their way into the protocol's library, which is loaded when the first one comes.

Stateless: every request has all that it needs, so any worker serves any client. Answers are JSON; a client that asked for
progress gets a stream of events.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
logger = logging.getLogger(__name__)


class Managers(NamedTuple):
    """Of the library: one that answers with JSON, and one with a stream."""

    plain: Any
    streaming: Any


class Endpoint:
    """`make_server` returns the library's server; it is called in a thread, because it imports the library."""

    def __init__(self, make_server: Callable[[], Any], *, max_body_bytes: int) -> None:
        self._make_server, self._max_body_bytes = make_server, max_body_bytes
        self._managers: asyncio.Future[Managers] | None = None
        self._owner: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    async def handle(self, scope: Message, body: bytes, receive: Receive, send: Send, *, streams: bool) -> None:
        """Answers one POST. `streams`: the client asked for progress."""
        managers = await self._running()
        manager = managers.streaming if streams else managers.plain
        await manager.handle_request(scope, _replayed(body, receive), send)

    async def stop(self) -> None:
        self._ending.set()
        if self._owner is not None:
            await self._owner

    async def _running(self) -> Managers:
        if self._managers is None or (self._managers.done() and self._managers.exception() is not None):
            self._managers = asyncio.get_running_loop().create_future()
            self._owner = asyncio.create_task(self._own(self._managers))
        return await asyncio.shield(self._managers)

    async def _own(self, ready: "asyncio.Future[Managers]") -> None:
        """One task that enters and leaves the library's task groups, as these want it."""
        try:
            managers = await asyncio.get_running_loop().run_in_executor(None, self._make_managers)
        except Exception as error:
            logger.exception("the MCP server does not start")
            ready.set_exception(error)
            return
        async with _run(managers):
            ready.set_result(managers)
            await self._ending.wait()

    def _make_managers(self) -> Managers:
        server = self._make_server()
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        # Hosts and origins are checked before, by the rules of the API.
        plain, streaming = (
            StreamableHTTPSessionManager(server, json_response=json, stateless=True, max_request_body_size=self._max_body_bytes)
            for json in (True, False)
        )
        return Managers(plain, streaming)


@asynccontextmanager
async def _run(managers: Managers) -> AsyncIterator[None]:
    async with managers.plain.run(), managers.streaming.run():
        yield


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body, which was read before; then what the client does, which is to disconnect."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message
