"""One process, one port: HTTP through the bridge, sockets through Channels."""

import asyncio
import os
import re

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter
from django.conf import settings

from config.http.bridge import Bridge, Handler
from config.http.files.uploads import Uploads
from config.http.mcp import McpRequests
from config.http.refusals import malformed
from config.http.request_body import Receive, RequestBodies
from config.http.request_log import Message, Send
from config.server import allocator, garbage_collection, thread_switching, workers
from config.server.background import BackgroundTasks
from config.server.http_protocol import MALFORMED
from config.server.waiting.long_polls import LongPolls
from config.server.waiting.page_turns import PageTurns
from config.server.waiting.stream_readers import StreamReaders
from generation_app.generations.runner import Runner
from generation_app.streams import hub as stream_hub
from sessions_app.core.storage import transactions
from sessions_app.core.storage.sql import on_postgresql
from sessions_app.events import hub
from sessions_app.frontends.sockets.routing import websocket_application

# Responses that a slow client can keep open for long: exports of sessions, accounts and memories.
LONG = re.compile(r"/api/v1/(?:export|sessions/[^/]+/export(?:\.md)?|projects/[^/]+/memory-export)")
PROBES = frozenset({"/healthz", "/readyz"})
PROBE_THREADS, PROBE_QUEUE = 2, 10_000
DECIDING_THREADS, DECIDING_QUEUE = 2, 64


class Server:
    """The whole server. It can be started once: after its lifespan has ended it does not start again."""

    def __init__(self) -> None:
        bodies = RequestBodies(max_body_bytes=settings.MAX_BODY_BYTES)
        handler = Handler()
        self._mcp = McpRequests()
        self._bridge = Bridge(
            handler, threads=settings.THREADS, queue=settings.QUEUE, bodies=bodies, together=True, mcp=self._mcp
        )
        # An export occupies its thread while it streams. It has separate threads, so that no save waits for one.
        # `core/limits/stream_slots.py` decides which of them may start, in a few additional threads.
        streams = settings.CHAT_STREAMS
        self._exports = Bridge(handler, threads=streams + DECIDING_THREADS, queue=streams + DECIDING_QUEUE, bodies=bodies)
        # Probes get their response however many requests wait.
        self._probes = Bridge(handler, threads=PROBE_THREADS, queue=PROBE_QUEUE, bodies=bodies)
        self._generations = Runner()
        self._uploads, self._background = Uploads(self._bridge), BackgroundTasks()
        self._long_polls = LongPolls(self._bridge)
        self._readers = StreamReaders(self._bridge)
        self._pages = PageTurns(self._bridge)

    async def http(self, scope: Message, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if self._uploads.takes(scope):
            await self._uploads(scope, receive, send)
            return
        if self._long_polls.takes(scope):
            await self._long_polls(scope, receive, send)
            return
        if self._readers.takes(scope):
            await self._readers(scope, receive, send)
            return
        if self._pages.takes(scope):
            await self._pages(scope, receive, send)
            return
        chosen = self._probes if path in PROBES else self._exports if LONG.fullmatch(path) else self._bridge
        await chosen(scope, receive, send)

    async def lifespan(self, scope: Message, receive: Receive, send: Send) -> None:
        """Before the first request and after the last one."""
        while (await receive())["type"] == "lifespan.startup":
            scope.get("state", {})[MALFORMED] = malformed()
            await self._start()
            await send({"type": "lifespan.startup.complete"})
        await self._stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        if on_postgresql():
            await loop.run_in_executor(None, self._bridge.warm_up)
        transactions.group_commits()
        await hub.start(loop)
        streams = await stream_hub.start(loop)
        self._long_polls.stop_on_signals(loop, streams.close_readers)
        self._background.start()
        self._generations.start()
        workers.end_with_supervisor()
        thread_switching.switch_soon()
        garbage_collection.begin()

    async def _stop(self) -> None:
        loop = asyncio.get_running_loop()
        await self._mcp.stop()
        for close in (self._generations.stop, self._bridge.close, self._exports.close, self._probes.close, self._background.stop):
            await loop.run_in_executor(None, close)
        await stream_hub.stop()
        await hub.stop()
        transactions.group_commits(together=False)


def make_application() -> ProtocolTypeRouter:
    allocator.limit_retained_memory()
    server = Server()
    return ProtocolTypeRouter({"http": server.http, "websocket": websocket_application, "lifespan": server.lifespan})


application = make_application()
