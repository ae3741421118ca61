"""Requests that wait until there is something to answer.

The operation only says that there is nothing yet; the server's event loop then waits, without a thread and without a
database connection, and asks again (`config/server/waiting/long_polls.py`). Where no such server is, the operation's first
answer counts.
"""

import uuid
from dataclasses import dataclass

from django.http import HttpRequest
from ninja import Query

# Key in `request.META` of what `nothing_yet` calls.
WAITS = "stillhere.waits"
# Seconds.
LONGEST_WAIT = 60
SINCE_REV_WAIT: int = Query(  # type: ignore[type-arg]
    0, ge=0, le=LONGEST_WAIT, description="With `since_rev`: answer when there is something, or after so many seconds."
)
DECISION_WAIT: int = Query(  # type: ignore[type-arg]
    0, ge=0, le=LONGEST_WAIT, description="Answer when the action is no longer pending, or after so many seconds."
)


@dataclass(frozen=True, slots=True)
class Awaited:
    """A session of a project (`path`), and for how many seconds the client waits for a change of it. `rev`: at which it still
    is; None for what changes without it."""

    project_id: uuid.UUID
    path: str
    session_id: uuid.UUID
    rev: int | None
    seconds: float


def nothing_yet(request: HttpRequest, awaited: Awaited) -> None:
    if (waits := request.META.get(WAITS)) is not None:
        waits(request, awaited)
