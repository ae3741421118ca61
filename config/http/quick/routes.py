"""Requests with a key that bypass Django and Ninja, by their addresses.

Only accepted ones are answered so. Everything else (a cookie, an unexpected query, a refusal) is left to Django, which reports
the error. They run in the threads of other requests, so on SQLite their transactions share commits (`transactions.py`).
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpResponse
from pydantic import ValidationError

from config.http.learned_headers import Answered, Kinds, QuickRequest, answered_as, caller_of
from config.http.request_log import Message
from sessions_app.core.errors import AppError
from sessions_app.core.limits.request_limits import check
from sessions_app.core.serialization.strict_json import REPLACEMENT
from sessions_app.core.storage.transactions import writes_for
from sessions_app.models import Caller
from sessions_app.models.credentials import READ, WRITE

# A larger body is read and checked in a thread of its own anyway: what is saved here is little beside that.
QUICK_BYTES = 1_500_000


class NotQuick(Exception):
    """Django has to answer."""


class Route(NamedTuple):
    """`reply` gets the parts of the address that `path` names. `reads`: headers that it reads and others leave to Django."""

    method: str
    path: re.Pattern[str]
    reply: Callable[[Caller, tuple[str, ...], QuickRequest], HttpResponse]
    with_query: bool = False
    reads: frozenset[bytes] = frozenset()


class QuickRoutes:
    def __init__(self, routes: Sequence[Route]) -> None:
        self._kinds = {route: Kinds(route.reads) for route in routes}

    def kinds_of(self, scope: Message, body: bytes) -> Kinds | None:
        """Those of the operation that the request names; None: it is none of these."""
        route = self._route_of(scope) if len(body) <= QUICK_BYTES else None
        return None if route is None else self._kinds[route]

    def run(self, request: QuickRequest, kinds: Kinds) -> Answered | None:
        """None: leave it to Django."""
        scope = request.scope
        kind, route = kinds.of(request), self._route_of(scope)
        named = None if route is None else route.path.fullmatch(scope["path"])
        if kind is None or route is None or named is None:
            return None
        needed = READ if route.method == "GET" else WRITE
        try:
            caller = caller_of(scope)
            if caller is None or needed not in caller.scopes:
                return None
            check(caller, method=route.method, size=len(request.body))
            request.counted = True
            with writes_for(len(request.body)):
                reply = route.reply(caller, named.groups(), request)
        except (AppError, ValidationError, NotQuick):
            return None
        except DatabaseError:
            connection.close()
            return None
        return answered_as(kind, request, caller, reply)

    def _route_of(self, scope: Message) -> Route | None:
        if not scope["path"].isprintable():
            return None
        for route in self._kinds:
            if route.method == scope["method"] and route.path.fullmatch(scope["path"]):
                return route if route.with_query or not scope["query_string"] else None
        return None


def query_of(request: QuickRequest, known: set[str]) -> dict[str, str]:
    """The parameters, if each is known, sent once, and text that can be stored."""
    sent: bytes = request.scope["query_string"]
    try:
        pairs = parse_qsl(sent.decode("ascii"), keep_blank_values=True, strict_parsing=bool(sent), errors="strict")
    except ValueError:
        raise NotQuick from None
    asked = dict(pairs)
    if len(asked) < len(pairs) or not asked.keys() <= known or any("\0" in text or REPLACEMENT in text for _, text in pairs):
        raise NotQuick
    return asked


def header_of(request: QuickRequest, name: bytes) -> str:
    return ",".join(value.decode("latin-1") for header, value in request.scope["headers"] if header == name)
