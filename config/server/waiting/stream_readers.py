"""Readers of streams (`GET /streams/{id}`, `GET /sessions/{id}/stream`): no thread and no database connection waits with them.

Each request goes through the ordinary path, so it is checked as every other. What it follows is then sent from the event loop. A
reader is a listener of its project's events like a socket, so it counts as one, and is closed when its access ends.
"""

import asyncio
import re
from collections.abc import Coroutine
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

import orjson
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest

from config.http.bridge import ENVIRON
from config.http.files.downloads import STALLED_SECONDS
from config.http.files.uploads import Application
from config.http.refusals import refuse
from config.http.request_body import Receive
from config.http.request_log import Message, Send
from config.server.http_protocol import CUT_OFF
from config.server.waiting.long_polls import TooManyWaiting, disconnected
from generation_app.streams import hub as stream_hub
from generation_app.streams.following import FOLLOWS, Followed, project_of, written
from sessions_app.accounts.authentication import admission_of
from sessions_app.events import hub
from sessions_app.events.listener import Listener
from sessions_app.events.listener_queries import Admission, newest_number
from sessions_app.models.event import EventType

PATH = re.compile(r"/api/v1/(?:streams/[^/]+|sessions/[^/]+/stream)")


class _Reader:
    """One request, and what it follows."""

    def __init__(self) -> None:
        self.followed: Followed | None = None
        self.admission: Admission | None = None
        self.revoked = asyncio.Event()

    def follows(self, request: HttpRequest, followed: Followed) -> None:
        """Called from the operation's thread, which has ended before anybody reads this."""
        self.followed, self.admission = followed, admission_of(request, *project_of(followed))

    async def hear(self, message: Message) -> None:
        """In place of a socket's `send`. A reader asks again when its session went, and is then checked where that is now."""
        if message["type"] == "websocket.close" or self._went(message["text"]):
            self.revoked.set()

    def _went(self, frame: str) -> bool:
        """To the trash, or to another project, whose events this reader does not hear."""
        if self.followed is None or str(self.followed.stream.session_id) not in frame:
            return False
        event = orjson.loads(frame)
        return event["type"] == EventType.SESSION_DELETED or "moved" in event.get("data", {})


class StreamReaders:
    """Wraps `application` for the addresses of streams."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def takes(self, scope: Message) -> bool:
        return bool(scope["method"] == "GET" and PATH.fullmatch(scope["path"]))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        reader, answer = _Reader(), list[Message]()

        async def keep(message: Message) -> None:
            answer.append(message)

        environ = {**scope.get(ENVIRON, {}), FOLLOWS: reader.follows}
        # Without the extension for whole answers: this one may only begin here.
        await self._application({**scope, "extensions": {}, ENVIRON: environ}, receive, keep)
        with suppress(ConnectionError, TimeoutError):
            if reader.followed is None or reader.admission is None or not answer:
                for message in answer:
                    await send(message)
            else:
                await self._follow(scope, receive, send, reader, reader.followed, reader.admission, answer)
        if CUT_OFF in scope.get("extensions", ()):
            await send({"type": CUT_OFF})  # Unless the answer has its end.

    async def _follow(
        self,
        scope: Message,
        receive: Receive,
        send: Send,
        reader: _Reader,
        followed: Followed,
        admission: Admission,
        answer: list[Message],
    ) -> None:
        """`answer` begins with the response's head. It is emptied: a reader may stay for hours, and its headers are 2 KB."""
        live = await hub.running()
        if settings.ACCOUNT_SOCKETS and live.sockets_of(admission.caller.user_id) >= settings.ACCOUNT_SOCKETS:
            await refuse(TooManyWaiting(), send, scope)
            return
        listener = Listener(admission=admission, send=reader.hear, read_log=live.read_log, owner=None)
        live.add(listener)
        try:
            with suppress(DatabaseError):
                listener.begin(await live.read(partial(newest_number, admission.project_id)))
            listener.release()
            await send(_without_length(answer[0]))
            answer.clear()
            await _until_one_ends(_send_all(send, followed), disconnected(receive), reader.revoked.wait())
        finally:
            live.remove(listener)


def _without_length(start: Message) -> Message:
    return {**start, "headers": [header for header in start["headers"] if header[0] != b"content-length"]}


async def _send_all(send: Send, followed: Followed) -> None:
    """Raises CutOff."""
    async with aclosing(written(stream_hub.running(), followed)) as content:
        async for some in content:
            async with asyncio.timeout(STALLED_SECONDS):
                await send({"type": "http.response.body", "body": some, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_one_ends(sending: Coroutine[Any, Any, None], *others: Coroutine[Any, Any, object]) -> None:
    """The others end what is sent. A response that ends so has no last chunk, so its client knows that there is more."""
    tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(one) for one in (sending, *others)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
