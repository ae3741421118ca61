"""Saves with a key that bypass Django and Ninja, whose overhead is larger than the save itself.

Only accepted saves are answered here, by the same schema, caller and service as in `sessions_app/chats/saving/api.py`. Everything
else (a cookie, another origin, a refused body, an unknown session) is left to Django, which reports the error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest
from pydantic import ValidationError

from config.http.learned_headers import Answered, Kinds, QuickRequest, answered_as, authorization_of
from config.http.request_log import Message
from config.http.save_batching import LATER, Later
from sessions_app.accounts.authentication import caller_of_header
from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.chats.saving.api import all_changes_of, answer_of
from sessions_app.chats.saving.receipts import Answer
from sessions_app.chats.saving.save_batches import Left, Save, save_together
from sessions_app.chats.saving.schemas import ChangesIn
from sessions_app.core.errors import AppError
from sessions_app.core.limits.request_limits import check
from sessions_app.core.serialization import strict_json
from sessions_app.models import Caller
from sessions_app.models.credentials import WRITE


@dataclass(slots=True)
class SaveRequest(QuickRequest):
    """A POST to …/changes. `save`: the parsed body."""

    save: Save | None = None


class _Body(NamedTuple):
    """The part of a request that `changes_of` needs."""

    sent: dict[str, Any]
    normalized: list[str]


class QuickSaves:
    def __init__(self) -> None:
        self.kinds = Kinds()

    def run(self, requests: Sequence[SaveRequest]) -> list[Answered | Later | None]:
        """Returns responses to those that it can handle, after one commit; None: leave it to Django. Raises StoreBusy."""
        callers: dict[str, Caller | None] = {}
        for request in requests:
            if request.save is None:  # Else its session was locked, and it is retried.
                request.save = self._read(request, callers)
        saves = [request.save for request in requests]
        try:
            answers = iter(save_together([save for save in saves if save is not None]))
        except DatabaseError:
            # The connection may be dead. Django opens another one and reports the error; a stored save is recognised as a retry.
            connection.close()
            return [None] * len(requests)
        return [
            None if save is None else self._outcome(request, save, next(answers))
            for request, save in zip(requests, saves, strict=True)
        ]

    def _read(self, request: SaveRequest, callers: dict[str, Caller | None]) -> Save | None:
        scope = request.scope
        if scope["query_string"] or self.kinds.of(request) is None:
            return None
        try:
            caller = _caller(scope, callers)
            if caller is None or WRITE not in caller.scopes:
                return None
            check(caller, method="POST", path=scope["path"], size=len(request.body))
            request.counted = True
            value, normalized = strict_json.loads(request.body)
            payload = ChangesIn.model_validate(value)
            body = cast(HttpRequest, _Body(value, normalized))
            changes = all_changes_of(body, payload)
            return Save(caller, session_uuid(scope["path"].rsplit("/", 2)[1]), changes)
        except (AppError, ValidationError):
            return None
        except DatabaseError:
            connection.close()
            return None

    def _outcome(self, request: SaveRequest, save: Save, answer: Answer | Left) -> Answered | Later | None:
        if isinstance(answer, Left):
            return LATER if answer is Left.HELD else None
        kind = self.kinds.of(request)
        return None if kind is None else answered_as(kind, request, save.caller, answer_of(answer))


def _caller(scope: Message, callers: dict[str, Caller | None]) -> Caller | None:
    """Looks up each key once for all waiting requests, so a key that was revoked before its request is refused."""
    header = authorization_of(scope)
    if header not in callers:
        callers[header] = caller_of_header(header)
    return callers[header]
