"""Saves with a key that bypass Django and Ninja, whose overhead is larger than the save itself.

Only accepted saves are answered here, by the same schema, caller and service as in `sessions_app/chats/saving/api.py`. Everything
else (a cookie, another origin, a refused body, an unknown session) is left to Django, which reports the error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

from django.db import Error as DatabaseError
from django.db import connection
from django.http import HttpRequest

from config.http.learned_headers import KEY, Answered, Callers, Kinds, QuickRequest, answered_with, read_write
from config.http.save_batching import LATER, Later
from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.chats.saving.api import all_changes_of, headers_of
from sessions_app.chats.saving.receipts import Answer
from sessions_app.chats.saving.request_identity import HEADER
from sessions_app.chats.saving.save_batches import Left, Save, save_together
from sessions_app.chats.saving.schemas import ChangesIn
from sessions_app.core.serialization import strict_json
from sessions_app.models import Caller


@dataclass(slots=True)
class SaveRequest(QuickRequest):
    """A POST to …/changes. `save`: the parsed body."""

    save: Save | None = None


class _Body(NamedTuple):
    """The part of a request that `changes_of` needs."""

    sent: dict[str, Any]
    normalized: list[str]
    headers: dict[str, str]


class QuickSaves:
    def __init__(self) -> None:
        self.kinds = Kinds({KEY})

    def run(self, requests: Sequence[SaveRequest]) -> list[Answered | Later | None]:
        """Returns responses to those that it can handle, after one commit; None: leave it to Django. Raises StoreBusy."""
        callers = Callers()
        for request in requests:
            if request.save is None:  # Else its session was locked, and it is retried.
                request.save = read_write(request, self.kinds, callers, partial(_save, request))
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

    def _outcome(self, request: SaveRequest, save: Save, answer: Answer | Left) -> Answered | Later | None:
        if isinstance(answer, Left):
            return LATER if answer is Left.HELD else None
        if request.kind is None:
            return None
        return answered_with(request.kind, request, save.caller, answer.status, headers_of(answer).items(), answer.body)


def _save(request: SaveRequest, caller: Caller) -> Save:
    """Raises AppError, ValidationError."""
    value, normalized = strict_json.loads(request.body)
    payload = ChangesIn.model_validate(value)
    keys = [value.decode("latin-1") for name, value in request.scope["headers"] if name == KEY]
    headers = {HEADER: keys[0]} if keys else {}
    changes = all_changes_of(cast(HttpRequest, _Body(value, normalized, headers)), payload)
    return Save(caller, session_uuid(request.scope["path"].split("/")[4]), changes)
