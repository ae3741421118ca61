"""Writes and reads of a project's memory with a key that bypass Django and Ninja, whose overhead is larger than the work itself.

Only accepted ones are answered here, as in `entries/api.py` and `batches/api.py` of `memory_app/key_value` and in
`memory_app/checkpoints/api.py`. Everything else (a cookie, an unexpected query, a refusal) is left to Django, which reports the
error. They run in the threads of other requests, so on SQLite their transactions share commits (`transactions.py`).
"""

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qsl

from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpResponse
from pydantic import ValidationError

from config.http.learned_headers import Answered, Kinds, QuickRequest, answered_as, caller_of
from config.http.request_log import Message
from memory_app.checkpoints import api as checkpoints
from memory_app.key_value.batches.api import batch_reply
from memory_app.key_value.entries.api import entry_reply, put_reply
from sessions_app.core.errors import AppError
from sessions_app.core.limits.request_limits import check
from sessions_app.core.serialization.strict_json import REPLACEMENT
from sessions_app.core.web.preconditions import Conditions
from sessions_app.models import Caller
from sessions_app.models.credentials import READ, WRITE

# A larger body is read and checked in a thread of its own anyway: what is saved here is little beside that.
QUICK_BYTES = 1_500_000
_MOST_LISTED = re.compile("[1-9][0-9]?|100")


class _NotQuick(Exception):
    """Django has to answer."""


class _Route(NamedTuple):
    """`reply` gets the parts of the address that `path` names."""

    method: str
    path: re.Pattern[str]
    reply: Callable[[Caller, tuple[str, ...], QuickRequest], HttpResponse]
    with_query: bool = False


class QuickMemory:
    def __init__(self) -> None:
        self._kinds = {route: Kinds() for route in _ROUTES}

    def kinds_of(self, scope: Message, body: bytes) -> Kinds | None:
        """Those of the operation that the request names; None: it is none of these."""
        route = _route_of(scope) if len(body) <= QUICK_BYTES else None
        return None if route is None else self._kinds[route]

    def run(self, request: QuickRequest, kinds: Kinds) -> Answered | None:
        """None: leave it to Django."""
        scope = request.scope
        kind, route = kinds.of(request), _route_of(scope)
        named = None if route is None else route.path.fullmatch(scope["path"])
        if kind is None or route is None or named is None:
            return None
        needed = READ if route.method == "GET" else WRITE
        try:
            caller = caller_of(scope)
            if caller is None or needed not in caller.scopes:
                return None
            check(caller, method=route.method, path=scope["path"], size=len(request.body))
            request.counted = True
            reply = route.reply(caller, named.groups(), request)
        except (AppError, ValidationError, _NotQuick):
            return None
        except DatabaseError:
            connection.close()
            return None
        return answered_as(kind, request, caller, reply)


def _route_of(scope: Message) -> _Route | None:
    if not scope["path"].isprintable():
        return None
    for route in _ROUTES:
        if route.method == scope["method"] and route.path.fullmatch(scope["path"]):
            return route if route.with_query or not scope["query_string"] else None
    return None


def _put(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    conditions = Conditions(if_match=_header(request, b"if-match"))
    project, namespace, key = named
    return put_reply(caller, project, namespace, key, request.body, conditions, _header(request, b"stillhere-run"))


def _get(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return entry_reply(caller, *named)


def _batch(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return batch_reply(caller, named[0], request.body, _header(request, b"stillhere-run"))


def _put_checkpoint(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return checkpoints.put_reply(caller, named, request.body)


def _put_writes(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return checkpoints.put_writes_reply(caller, named, request.body)


def _get_checkpoint(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return checkpoints.read_reply(caller, *named)


def _list_checkpoints(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    asked = _query(request.scope["query_string"], {"ns", "before", "filter", "cursor", "limit"})
    limit = asked.get("limit", str(checkpoints.LISTED))
    if not _MOST_LISTED.fullmatch(limit):
        raise _NotQuick
    texts = [asked.get(name, "") for name in ("before", "filter", "cursor")]
    project, thread = named
    return checkpoints.list_reply(caller, project, thread, (asked.get("ns"), texts[0], texts[1], texts[2], int(limit)))


def _query(sent: bytes, known: set[str]) -> dict[str, str]:
    """The parameters, if each is known, sent once, and text that can be stored."""
    try:
        pairs = parse_qsl(sent.decode("ascii"), keep_blank_values=True, strict_parsing=bool(sent), errors="strict")
    except ValueError:
        raise _NotQuick from None
    asked = dict(pairs)
    if len(asked) < len(pairs) or not asked.keys() <= known or any("\0" in text or REPLACEMENT in text for _, text in pairs):
        raise _NotQuick
    return asked


def _header(request: QuickRequest, name: bytes) -> str:
    return next((value.decode("latin-1") for header, value in request.scope["headers"] if header == name), "")


_PROJECT = "/api/v1/projects/([^/]+)"
_ENTRY = re.compile(_PROJECT + "/memory/([^/]+)/([^/]+)")
_CHECKPOINTS = _PROJECT + "/threads/([^/]+)/checkpoints"
_CHECKPOINT = _CHECKPOINTS + "/([^/]+)/([^/]+)"
_ROUTES = (
    _Route("PUT", _ENTRY, _put),
    _Route("GET", _ENTRY, _get),
    _Route("POST", re.compile(_PROJECT + "/memory/batch"), _batch),
    _Route("PUT", re.compile(_CHECKPOINT), _put_checkpoint),
    _Route("PUT", re.compile(_CHECKPOINT + "/writes/([^/]+)"), _put_writes),
    _Route("GET", re.compile(_CHECKPOINT), _get_checkpoint),
    _Route("GET", re.compile(_CHECKPOINTS), _list_checkpoints, with_query=True),
)
