"""One request and its response, for the log."""

import logging
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from random import getrandbits
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from config.logs import write_request
from config.server.http_protocol import WHOLE_ANSWER

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
HEADER = b"x-request-id"
# Scope key of the record of the request that this one is a part of; it tells the log itself.
RECORD = "stillhere.record"
# The form of ids from a proxy.
_GIVEN = re.compile(rb"[A-Za-z0-9._-]{1,64}")
# nginx's status for a client that disconnected before the response.
LEFT = 499
logger = logging.getLogger("stillhere.requests")


class RequestRecord:
    """Passes the response on, with the request's id in its headers, and records what was sent.

    `on_start` is called when the response begins: the parsed body is no longer needed then.
    """

    def __init__(self, scope: Message, send: Send, *, on_start: Callable[[], None]) -> None:
        self.id = _id_of(scope)
        self.started = False
        self.received_bytes = 0
        self._scope, self._send, self._on_start = scope, send, on_start
        self._status, self._sent_bytes = LEFT, 0
        self._request: HttpRequest | None = None
        self._known: tuple[str, int] | None = None
        self._began = time.perf_counter()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self._status = True, message["status"]
            self._on_start()
            message["headers"].append((HEADER, self.id.encode()))
        else:
            self._sent_bytes += len(message["body"])
        await self._send(message)

    async def answer(self, status: int, headers: list[tuple[bytes, bytes]], content: bytes) -> None:
        """Sends a complete response."""
        if WHOLE_ANSWER not in self._scope.get("extensions", ()):
            await self.send({"type": "http.response.start", "status": status, "headers": headers})
            await self.send({"type": "http.response.body", "body": content})
            return
        self.started, self._status = True, status
        self._on_start()
        self._sent_bytes += len(content)
        headers.append((HEADER, self.id.encode()))
        await self._send({"type": WHOLE_ANSWER, "status": status, "headers": headers, "body": content})

    def reached(self, request: HttpRequest) -> None:
        """Django handles it: from now on route and user can be read."""
        self._request = request

    def known(self, route: str, user_id: int) -> None:
        """Sets the route of a request that never reaches Django."""
        self._known = (route, user_id)

    def tell(self) -> None:
        """Writes the log line. Server errors and refusals for lack of capacity are warnings."""
        level = logging.WARNING if self._status >= 500 else logging.INFO
        if not logger.isEnabledFor(level):
            return
        fields = {
            "request_id": self.id,
            "method": self._scope["method"],
            "route": self.route(),
            "status": self._status,
            "ms": round((time.perf_counter() - self._began) * 1000, 2),
            "bytes_in": self.received_bytes,
            "bytes_out": self._sent_bytes,
            "user": self._user(),
        }
        write_request(logger.name, level, fields)

    def route(self) -> str:
        """The route in the URL configuration, with the names of its parameters, never their values."""
        if self._known is not None:
            return self._known[0]
        match = getattr(self._request, "resolver_match", None)
        if match is not None:
            return str(match.route)
        path: str = self._scope["path"]
        if path.startswith(settings.STATIC_URL):
            return settings.STATIC_URL
        try:
            return str(resolve(path).route)
        except Resolver404:
            return "unknown"

    def _user(self) -> int | None:
        """The user, if authentication has loaded it; logging causes no query."""
        if self._known is not None:
            return self._known[1]
        caller = getattr(self._request, "auth", None)
        if caller is not None:
            return int(caller.user_id)
        user = getattr(self._request, "_cached_user", None)
        return None if user is None else user.pk


def _id_of(scope: Message) -> str:
    """The id from a trusted proxy, else a new one."""
    if settings.TRUSTED_PROXIES:
        for name, value in scope["headers"]:
            if name == HEADER and _GIVEN.fullmatch(value):
                return str(value.decode())
    # Not `os.urandom`: under load the event loop would wait for the interpreter after this call of the system, up to 5 ms.
    return f"{getrandbits(64):016x}"
