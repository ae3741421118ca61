"""One request and its answer, as the log will tell of them."""

import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from config.logs import write_request

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
HEADER = b"x-request-id"
# As a proxy in front may have chosen it.
_GIVEN = re.compile(rb"[A-Za-z0-9._-]{1,64}")
# nginx's word for a client that left before it was answered.
LEFT = 499
logger = logging.getLogger("stillhere.requests")


class Exchange:
    """Passes the answer on, with the request's id in its head, and remembers what was sent."""

    def __init__(self, scope: Message, send: Send) -> None:
        self.id = _id_of(scope)
        self.started = False
        self.received_bytes = 0
        self._scope, self._send = scope, send
        self._status, self._sent_bytes = LEFT, 0
        self._request: HttpRequest | None = None
        self._began = time.perf_counter()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self._status = True, message["status"]
            message["headers"].append((HEADER, self.id.encode()))
        else:
            self._sent_bytes += len(message["body"])
        await self._send(message)

    def reached(self, request: HttpRequest) -> None:
        """Django has it: from now on route and user can be known."""
        self._request = request

    def tell(self) -> None:
        """The line in the log. Faults of ours and refusals for want of room are worth a warning."""
        level = logging.WARNING if self._status >= 500 else logging.INFO
        if not logger.isEnabledFor(level):
            return
        fields = {
            "request_id": self.id,
            "method": self._scope["method"],
            "route": self._route(),
            "status": self._status,
            "ms": round((time.perf_counter() - self._began) * 1000, 2),
            "bytes_in": self.received_bytes,
            "bytes_out": self._sent_bytes,
            "user": self._user(),
        }
        write_request(logger.name, level, fields)

    def _route(self) -> str:
        """As it stands in the URL configuration, with the names of its parts and never their values."""
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
        """By key or cookie, where somebody asked who it is; the log costs no query."""
        caller = getattr(self._request, "auth", None)
        if caller is not None:
            return int(caller.user_id)
        user = getattr(self._request, "_cached_user", None)
        return None if user is None else user.pk


def _id_of(scope: Message) -> str:
    """The one that a trusted proxy gave, else a new one."""
    if settings.TRUSTED_PROXIES:
        for name, value in scope["headers"]:
            if name == HEADER and _GIVEN.fullmatch(value):
                return str(value.decode())
    return os.urandom(8).hex()
