"""Reads of sessions with a key that bypass Django and Ninja: those with which clients of frameworks begin.

As in `chats/saving/api.py` and `chats/sessions/api.py` of `sessions_app`.
"""

import re

from django.http import HttpResponse

from config.http.learned_headers import QuickRequest
from config.http.quick.routes import NotQuick, Route, query_of
from sessions_app.chats.saving.api import page_reply
from sessions_app.chats.sessions.api import by_external_id_reply
from sessions_app.models import Caller

_NUMBER = re.compile("[1-9][0-9]{0,3}")
_SESSION = "/api/v1/sessions/([^/]+)"
_NAMED = "/api/v1/projects/([^/]+)/sessions/by-external/(.+)"


def _messages(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    asked = query_of(request, {"before", "limit", "as"})
    limit = asked.get("limit", "50")
    if not _NUMBER.fullmatch(limit) or int(limit) > 500:
        raise NotQuick
    return page_reply(caller, named[0], asked.get("before"), int(limit), asked.get("as"))


def _by_external_id(caller: Caller, named: tuple[str, ...], request: QuickRequest) -> HttpResponse:
    return by_external_id_reply(caller, *named)


ROUTES = (
    Route("GET", re.compile(_SESSION + "/messages"), _messages, with_query=True),
    Route("GET", re.compile(_NAMED), _by_external_id),
)
