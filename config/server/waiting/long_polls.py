"""Requests that wait for a session's next change (`?since_rev=N&wait=25`), or for the answer to an agent's question (`?wait=25`):
no thread and no database connection waits with them.

Each is asked through the ordinary path. If there is nothing yet, it listens to its project's events like a socket (and counts
as one), and is asked again when its session changed, when its access ended, or when its time is up. So what it is answered is
checked and read as every other request's.
"""

import asyncio
import re
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

import orjson
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest

from config.http.bridge import ENVIRON
from config.http.files.uploads import Application
from config.http.refusals import refuse
from config.http.request_body import Receive
from config.http.request_log import Message, Send
from sessions_app.accounts.authentication import admission_of
from sessions_app.core.errors import TooMany
from sessions_app.core.limits.request_limits import COUNTED
from sessions_app.core.web.waiting import WAITS, Awaited
from sessions_app.events import hub
from sessions_app.events.listener import Listener
from sessions_app.events.listener_queries import Admission, newest_number

PATH = re.compile(r"/api/v1/sessions/[^/]+/(?:messages|agent-state/pending-action/[^/]+)")
RETRY_SECONDS = 5


class TooManyWaiting(TooMany):
    """`otherwise`: what else a client can do."""

    def __init__(self, otherwise: str = "") -> None:
        limit = settings.ACCOUNT_SOCKETS
        message = f"This account has {limit:,} waiting requests and sockets open. Close some{otherwise}."
        super().__init__(message, code="too_many_waiting", details={"limit": limit}, retry_after=RETRY_SECONDS)


class _Poll:
    """One request. `awaited` and `admission`: of its last answer, if there was nothing yet."""

    def __init__(self) -> None:
        self.awaited: Awaited | None = None
        self.admission: Admission | None = None
        self.woken = asyncio.Event()

    def nothing_yet(self, request: HttpRequest, awaited: Awaited) -> None:
        """Called from the operation's thread, which has ended before anybody reads this."""
        self.awaited, self.admission = awaited, admission_of(request, awaited.project_id, awaited.path)

    async def hear(self, message: Message) -> None:
        """In place of a socket's `send`: wakes on a change of the session, on lost events, and when the access ended."""
        awaited, text = self.awaited, message.get("text")
        frame: dict[str, Any] = {"type": "RESYNC"} if text is None else orjson.loads(text)
        if frame["type"] == "RESYNC" or (awaited is not None and _is_change(frame, awaited)):
            self.woken.set()


def _is_change(frame: dict[str, Any], awaited: Awaited) -> bool:
    of_session: bool = frame.get("session") == str(awaited.session_id)
    return of_session and (awaited.rev is None or frame.get("rev") != awaited.rev)


class LongPolls:
    """Wraps `application` for the addresses of `PATH`."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._waiting: set[_Poll] = set()
        self._stopping = False

    def takes(self, scope: Message) -> bool:
        return bool(scope["method"] == "GET" and b"wait=" in scope["query_string"] and PATH.fullmatch(scope["path"]))

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        poll = _Poll()
        answer = await self._ask(scope, receive, poll)
        if poll.awaited is not None and answer:
            gone = asyncio.ensure_future(disconnected(receive))
            try:
                answer = await self._wait(scope, poll, gone, answer)
            except TooManyWaiting as error:
                await refuse(error, send, scope)
                return
            finally:
                gone.cancel()
        with suppress(ConnectionError):
            for message in answer:
                await send(message)

    def stop(self) -> None:
        """Answers all that wait, with what was known last; later ones do not wait."""
        self._stopping = True
        for poll in self._waiting:
            poll.woken.set()

    def stop_on_signals(self, loop: asyncio.AbstractEventLoop, also: Callable[[], None]) -> None:
        """When the server is told to stop: it then waits for open requests, and only tells the application when none is left.

        `also` is called then too.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            server_s = signal.getsignal(number)
            if not callable(server_s):
                continue

            def told(found: int, frame: FrameType | None, then: Any = server_s) -> None:
                loop.call_soon_threadsafe(self.stop)
                loop.call_soon_threadsafe(also)
                then(found, frame)

            with suppress(ValueError):  # In a test's thread, which gets no signals.
                signal.signal(number, told)

    async def _wait(self, scope: Message, poll: _Poll, gone: "asyncio.Future[None]", answer: list[Message]) -> list[Message]:
        """The answer once there is one; nothing for a client that has disconnected."""
        loop = asyncio.get_running_loop()
        until = loop.time() + (poll.awaited.seconds if poll.awaited is not None else 0)
        while poll.admission is not None and not self._stopping and not gone.done() and loop.time() < until:
            answer = await self._listen(scope, poll, poll.admission, gone, until)
            if poll.awaited is not None and not self._stopping and not gone.done():
                answer = await self._ask_again(scope, poll)
        return [] if gone.done() else answer

    async def _listen(
        self, scope: Message, poll: _Poll, admission: Admission, gone: "asyncio.Future[None]", until: float
    ) -> list[Message]:
        """Asks while it listens already, so that no change goes unheard, and returns that answer, if it says that there is
        nothing yet only after something was heard or the time is up."""
        live = await hub.running()
        if settings.ACCOUNT_SOCKETS and live.sockets_of(admission.caller.user_id) >= settings.ACCOUNT_SOCKETS:
            raise TooManyWaiting(", or ask without `wait`")
        listener = Listener(admission=admission, send=poll.hear, read_log=live.read_log, owner=None)
        live.add(listener)
        self._waiting.add(poll)
        try:
            with suppress(DatabaseError):  # Then the answer says so.
                listener.begin(await live.read(partial(newest_number, admission.project_id)))
            answer = await self._ask_again(scope, poll)
            if poll.awaited is not None and not self._stopping:
                listener.release()
                woken = asyncio.ensure_future(poll.woken.wait())
                waits: set[asyncio.Future[Any]] = {woken, gone}
                left = max(0.0, until - asyncio.get_running_loop().time())
                await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
            return answer
        finally:
            self._waiting.discard(poll)
            live.remove(listener)

    async def _ask_again(self, scope: Message, poll: _Poll) -> list[Message]:
        """It was counted against the key's rate when it came."""
        poll.awaited = poll.admission = None
        poll.woken.clear()
        return await self._ask({**scope, ENVIRON: {COUNTED: True}}, _nothing, poll)

    async def _ask(self, scope: Message, receive: Receive, poll: _Poll) -> list[Message]:
        told: list[Message] = []

        async def keep(message: Message) -> None:
            told.append(message)

        environ = {**scope.get(ENVIRON, {}), WAITS: poll.nothing_yet}
        await self._application({**scope, ENVIRON: environ}, receive, keep)
        return told


async def _nothing() -> Message:
    """The body of a request that has been read."""
    return {"type": "http.request", "body": b"", "more_body": False}


async def disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
