"""Resumes with a key that bypass Django and Ninja.

Only successful ones are answered here, as in `sessions_app/frontends/resume/api.py`. Everything else (a condition, another
parameter, nothing saved) is left to Django.
"""

import re
from urllib.parse import unquote_plus

from django.db import Error as DatabaseError
from django.db import connection

from config.http.learned_headers import Answered, Kinds, QuickRequest, answered_as, caller_of
from config.http.request_log import Message
from sessions_app.core.errors import AppError
from sessions_app.core.limits.request_limits import check
from sessions_app.core.serialization.strict_json import REPLACEMENT
from sessions_app.frontends.app_state.queries import DEFAULT_CLIENT
from sessions_app.frontends.resume.api import LONGEST_PATH, bundle_reply
from sessions_app.frontends.resume.queries import find_resume
from sessions_app.models.credentials import READ

PATH = "/api/v1/resume"
_PROJECT = re.compile(rb"project=([A-Za-z0-9%+/:._~-]+)")


def is_quick_resume(scope: Message, body: bytes) -> bool:
    return scope["path"] == PATH and scope["method"] == "GET" and not body


class QuickResumes:
    def __init__(self) -> None:
        self.kinds = Kinds()

    def run(self, request: QuickRequest) -> Answered | None:
        """None: leave it to Django."""
        kind = self.kinds.of(request)
        asked = _PROJECT.fullmatch(request.scope["query_string"])
        if kind is None or asked is None:
            return None
        path = unquote_plus(asked[1].decode())
        if len(path) > LONGEST_PATH or "\0" in path or REPLACEMENT in path:
            return None
        try:
            caller = caller_of(request.scope)
            if caller is None or READ not in caller.scopes:
                return None
            check(caller, method="GET", size=0)
            request.counted = True
            reply = bundle_reply(caller, find_resume(caller=caller, path=path, client=DEFAULT_CLIENT), quiet=False)
        except AppError:
            return None
        except DatabaseError:
            connection.close()
            return None
        return answered_as(kind, request, caller, reply)
