"""Writes and reads of a project's memory with a key that bypass Django and Ninja, whose overhead is larger than the work itself:
as in `entries/api.py` and `batches/api.py` of `memory_app/key_value` and in `api.py` of `memory_app/checkpoints` and `context`.
"""

import re

from django.http import HttpResponse

from config.http.learned_headers import KNOWN, QuickRequest
from config.http.quick.routes import NotQuick, Route, header_of, query_of
from memory_app.checkpoints import api as checkpoints
from memory_app.context import api as context
from memory_app.key_value.batches.api import batch_reply
from memory_app.key_value.entries.api import entry_reply, put_reply
from sessions_app.core.web.preconditions import Conditions
from sessions_app.models import Caller

_BUDGET = re.compile("[1-9][0-9]{2,6}")
_MOST_LISTED = re.compile("[1-9][0-9]?|100")


def _put(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    conditions = Conditions(if_match=header_of(request, b"if-match"))
    project, namespace, key = named
    return put_reply(caller, project, namespace, key, request.body, conditions, header_of(request, b"stillhere-run"))


def _get(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return entry_reply(caller, *named)


def _batch(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return batch_reply(caller, named[0], request.body, header_of(request, b"stillhere-run"))


def _put_checkpoint(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return checkpoints.put_reply(caller, named, request.body)


def _put_writes(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return checkpoints.put_writes_reply(caller, named, request.body)


def _get_checkpoint(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return checkpoints.read_reply(caller, named, header_of(request, b"accept"))


def _list_checkpoints(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    asked = query_of(request, {"ns", "before", "filter", "cursor", "limit"})
    limit = asked.get("limit", str(checkpoints.LISTED))
    if not _MOST_LISTED.fullmatch(limit):
        raise NotQuick
    texts = [asked.get(name, "") for name in ("before", "filter", "cursor")]
    project, thread = named
    listed = (asked.get("ns"), texts[0], texts[1], texts[2], int(limit))
    return checkpoints.list_reply(caller, project, thread, listed, header_of(request, b"accept"))


def _context(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    budget = query_of(request, {"budget"}).get("budget", str(context.NORMAL))
    if not _BUDGET.fullmatch(budget) or not context.LEAST <= int(budget) <= context.MOST:
        raise NotQuick
    return context.context_reply(caller, named[0], int(budget), header_of(request, KNOWN))


_PROJECT = "/api/v1/projects/([^/]+)"
_ENTRY = re.compile(_PROJECT + "/memory/([^/]+)/([^/]+)")
_CHECKPOINTS = _PROJECT + "/threads/([^/]+)/checkpoints"
_CHECKPOINT = _CHECKPOINTS + "/([^/]+)/([^/]+)"
ROUTES = (
    Route("PUT", _ENTRY, _put),
    Route("GET", _ENTRY, _get),
    Route("POST", re.compile(_PROJECT + "/memory/batch"), _batch),
    Route("PUT", re.compile(_CHECKPOINT), _put_checkpoint),
    Route("PUT", re.compile(_CHECKPOINT + "/writes/([^/]+)"), _put_writes),
    Route("GET", re.compile(_CHECKPOINT), _get_checkpoint),
    Route("GET", re.compile(_CHECKPOINTS), _list_checkpoints, with_query=True),
    Route("GET", re.compile(_PROJECT + "/context"), _context, with_query=True, reads=frozenset({KNOWN})),
)
