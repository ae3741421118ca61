"""Requests for sessions with a key that bypass Django and Ninja: those that clients of frameworks send, and searches.

As in `api.py` of `saving`, `search` and `sessions` in `sessions_app/chats`, and in its `lifecycle/session_deletion_api.py`.
"""

import re

from django.http import HttpResponse

from config.api.requests_and_refusals import refuse
from config.http.learned_headers import QuickRequest
from config.http.quick.routes import NotQuick, Route, query_of
from sessions_app.chats.lifecycle.session_deletion_api import delete_reply
from sessions_app.chats.saving.api import page_reply
from sessions_app.chats.search.api import LONGEST_WORDS, search_reply
from sessions_app.chats.search.schemas import SearchQuery
from sessions_app.chats.sessions.api import by_external_id_reply
from sessions_app.core.storage.time_limit import TimeIsUp
from sessions_app.models import Caller

_NUMBER = re.compile("[1-9][0-9]{0,3}")
_REV = re.compile("[0-9]{1,15}")
_SESSION = "/api/v1/sessions/([^/]+)"
_NAMED = "/api/v1/projects/([^/]+)/sessions/by-external/(.+)"


def _search(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    asked = query_of(request, {"q", "in", "project", "role", "format", "cursor", "limit"})
    words, cursor = asked.pop("q", ""), asked.pop("cursor", None)
    if not 1 <= len(words) <= LONGEST_WORDS:
        raise NotQuick
    limit = _limit_of(asked.pop("limit", "50"))
    try:
        return search_reply(caller, words, SearchQuery.model_validate(asked), cursor, limit)
    except TimeIsUp as error:  # Django would search once more, for as long.
        return refuse(error)


def _limit_of(text: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) > 500:
        raise NotQuick
    return int(text)


def _messages(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    asked = query_of(request, {"before", "limit", "as", "head", "fields"})
    limit = _limit_of(asked.get("limit", "50"))
    return page_reply(caller, named[0], asked.get("before"), limit, *(asked.get(name) for name in ("as", "head", "fields")))


def _by_external_id(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return by_external_id_reply(caller, *named)


def _delete(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    asked = query_of(request, {"purge", "if_rev"})
    purge, if_rev = asked.get("purge", "0"), asked.get("if_rev")
    if purge not in {"0", "1"} or not (if_rev is None or _REV.fullmatch(if_rev)):
        raise NotQuick
    return delete_reply(caller, named[0], purge=purge == "1", if_rev=None if if_rev is None else int(if_rev))


ROUTES = (
    Route("GET", re.compile(_SESSION + "/messages"), _messages, with_query=True),
    Route("GET", re.compile(_NAMED), _by_external_id),
    Route("GET", re.compile("/api/v1/search"), _search, with_query=True),
    Route("DELETE", re.compile(_SESSION), _delete, with_query=True),
)
