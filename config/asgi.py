"""One process, one port: HTTP through the bridge, sockets through Channels."""

import asyncio
import os
import re

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter
from django.conf import settings

from config import allocator
from config.bridge import Bridge, Receive
from config.exchange import Message, Send
from config.upkeep import Upkeep
from sessions_app import hub
from sessions_app.models.sql import on_postgresql
from sessions_app.routing import websocket_application
from sessions_app.services import writing

# What a slow client can keep going for long: chat answers as they stream; sessions, accounts and memories as files.
LONG = re.compile(r"/chat/answer|/api/v1/(?:export|sessions/[^/]+/export(?:\.md)?|projects/[^/]+/memory-export)")


def make_application() -> ProtocolTypeRouter:
    """The whole server, for one life: what its lifespan ended does not begin again."""
    allocator.keep_little()
    limits = {"queue": settings.QUEUE, "max_body_bytes": settings.MAX_BODY_BYTES}
    bridge = Bridge(threads=settings.THREADS, together=not on_postgresql(), **limits)
    # A long answer occupies its thread for as long as it streams: threads of its own, so that no save ever waits for one.
    streams = settings.CHAT_STREAMS
    answers = Bridge(threads=streams, queue=streams, max_body_bytes=settings.MAX_BODY_BYTES)

    upkeep = Upkeep()

    async def http(scope: Message, receive: Receive, send: Send) -> None:
        await (answers if LONG.fullmatch(scope["path"]) else bridge)(scope, receive, send)

    async def lifespan(scope: Message, receive: Receive, send: Send) -> None:
        """Before the first request and after the last one."""
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                writing.group_commits()
                await hub.start(asyncio.get_running_loop())
                upkeep.start()
                await send({"type": "lifespan.startup.complete"})
            else:
                await asyncio.get_running_loop().run_in_executor(None, bridge.close)
                await asyncio.get_running_loop().run_in_executor(None, answers.close)
                await asyncio.get_running_loop().run_in_executor(None, upkeep.stop)
                await hub.stop()
                writing.group_commits(together=False)
                await send({"type": "lifespan.shutdown.complete"})
                return

    return ProtocolTypeRouter({"http": http, "websocket": websocket_application, "lifespan": lifespan})


application = make_application()
