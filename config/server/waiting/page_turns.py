"""Pages of one login are built a few at a time, so that somebody who opens many at once holds up nobody else.

A page takes the interpreter, which all threads share, for much longer than a save: among sixteen that begin together everybody
else's page gets a seventeenth of it. Those that wait here take no thread; one whose browser has left meanwhile is not built.
"""

import asyncio
from dataclasses import dataclass, field

from django.conf import settings
from django.http import parse_cookie

from config.http.files.uploads import Application, after_body
from config.http.request_body import Receive
from config.http.request_log import Message, Send
from config.server.waiting.long_polls import disconnected

# A person looks at one page at a time, and a browser fills some frames or tabs beside it.
AT_ONCE = 3
# Answered without building a page.
NO_PAGES = ("/api/", "/mcp", "/v1/", "/static/", "/healthz", "/readyz")


@dataclass(eq=False, slots=True)
class _Login:
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    views: int = 0


class PageTurns:
    """Wraps `application` for what a signed-in browser reads as a page."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._logins: dict[str, _Login] = {}

    def takes(self, scope: Message) -> bool:
        return scope["method"] == "GET" and not scope["path"].startswith(NO_PAGES) and login_of(scope) != ""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        name = login_of(scope)
        login = self._logins.setdefault(name, _Login())
        login.views += 1
        try:
            if not login.turns.locked():
                await login.turns.acquire()
            elif await _turn(login, receive):
                receive = after_body(receive)
            else:
                return
            await self._build(login, scope, receive, send)
        finally:
            login.views -= 1
            if not login.views:
                del self._logins[name]

    async def _build(self, login: _Login, scope: Message, receive: Receive, send: Send) -> None:
        """The turn ends when the page is there: a browser that takes it slowly costs no time of the interpreter."""
        building = True

        async def tell(message: Message) -> None:
            nonlocal building
            if building:
                building = False
                login.turns.release()
            await send(message)

        try:
            await self._application(scope, receive, tell)
        finally:
            if building:
                login.turns.release()


async def _turn(login: _Login, receive: Receive) -> bool:
    """Waits for a turn of this login. False: the browser has left before."""
    turn, gone = asyncio.ensure_future(login.turns.acquire()), asyncio.ensure_future(disconnected(receive))
    try:
        await asyncio.wait({turn, gone}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        if turn.done() and not turn.cancelled():
            login.turns.release()
        raise
    finally:
        gone.cancel()
        turn.cancel()
    return turn.done() and not turn.cancelled()


def login_of(scope: Message) -> str:
    """What the browser signs in with, as Django reads it; empty without."""
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin-1")
    return parse_cookie(cookies).get(settings.SESSION_COOKIE_NAME, "")
