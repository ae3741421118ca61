"""Writes and reads of a project's memory with a key that bypass Django and Ninja, whose overhead is larger than the work itself.

Only accepted ones are answered here, as in `memory_app/entries/api.py` and `memory_app/batches/api.py`. Everything else
(a cookie, a query, a refusal) is left to Django, which reports the error. They run in the threads of other requests, so on
SQLite their transactions share commits (`transactions.py`).
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpResponse
from pydantic import ValidationError

from config.http.learned_headers import Answered, Kinds, QuickRequest, answered_as, caller_of
from config.http.request_log import Message
from memory_app.batches.api import batch_reply
from memory_app.entries.api import entry_reply, put_reply
from sessions_app.core.errors import AppError
from sessions_app.core.limits.request_limits import check
from sessions_app.core.web.preconditions import Conditions
from sessions_app.models import Caller
from sessions_app.models.credentials import READ, WRITE

_PATH = re.compile(r"/api/v1/projects/([^/]+)/memory/([^/]+)(?:/([^/]+))?")
_BATCH = "batch"
# A larger body is read and checked in a thread of its own anyway: what is saved here is little beside that.
QUICK_BYTES = 1_500_000


class _Named(NamedTuple):
    project: str
    namespace: str
    key: str | None


class QuickMemory:
    def __init__(self) -> None:
        self._kinds = {"PUT": Kinds(), "GET": Kinds(), "POST": Kinds()}

    def kinds_of(self, scope: Message, body: bytes) -> Kinds | None:
        """Those of the operation that the request names; None: it is none of these."""
        named = _PATH.fullmatch(scope["path"]) if len(body) <= QUICK_BYTES else None
        if named is None or scope["query_string"] or not scope["path"].isprintable():
            return None
        is_batch = named[3] is None and named[2] == _BATCH and scope["method"] == "POST"
        is_entry = named[3] is not None and scope["method"] in {"PUT", "GET"}
        return self._kinds[scope["method"]] if is_batch or is_entry else None

    def run(self, request: QuickRequest, kinds: Kinds) -> Answered | None:
        """None: leave it to Django."""
        scope = request.scope
        kind, named = kinds.of(request), _PATH.fullmatch(scope["path"])
        if kind is None or named is None:
            return None
        method, needed = scope["method"], READ if scope["method"] == "GET" else WRITE
        try:
            caller = caller_of(scope)
            if caller is None or needed not in caller.scopes:
                return None
            check(caller, method=method, path=scope["path"], size=len(request.body))
            request.counted = True
            reply = _REPLIES[method](caller, _Named(*named.groups()), request)
        except (AppError, ValidationError):
            return None
        except DatabaseError:
            connection.close()
            return None
        return answered_as(kind, request, caller, reply)


def _put(caller: Caller, named: _Named, request: QuickRequest) -> HttpResponse:
    return put_reply(
        caller,
        named.project,
        named.namespace,
        named.key or "",
        request.body,
        Conditions(if_match=_header(request, b"if-match")),
        _header(request, b"stillhere-run"),
    )


def _get(caller: Caller, named: _Named, request: QuickRequest) -> HttpResponse:
    return entry_reply(caller, named.project, named.namespace, named.key or "")


def _post(caller: Caller, named: _Named, request: QuickRequest) -> HttpResponse:
    return batch_reply(caller, named.project, request.body, _header(request, b"stillhere-run"))


_REPLIES: dict[str, Callable[[Caller, _Named, QuickRequest], HttpResponse]] = {"PUT": _put, "GET": _get, "POST": _post}


def _header(request: QuickRequest, name: bytes) -> str:
    return next((value.decode("latin-1") for header, value in request.scope["headers"] if header == name), "")
