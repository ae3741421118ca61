"""A project's log of events, for reading."""

import uuid
from dataclasses import dataclass
from datetime import datetime

import orjson

from sessions_app.models import ChatSession, Event


@dataclass(frozen=True, slots=True)
class Happened:
    """`by`: the key's name, or the user's. `title`: what pages call the session; None if it concerns no session, or an
    erased one. `open`: the session can be viewed."""

    event_seq: int
    type: str
    at: datetime
    by: str
    session_id: uuid.UUID | None
    title: str | None
    open: bool


def list_newest_events(*, project_id: uuid.UUID, before: int | None = None, limit: int = 100) -> list[Happened]:
    """Newest first; one more than `limit` if there are more. The project must be the caller's."""
    rows = Event.objects.filter(project_id=project_id)
    if before is not None:
        rows = rows.filter(event_seq__lt=before)
    found = list(rows.order_by("-event_seq")[: limit + 1])
    named = {row.session_id for row in found if row.session_id}
    sessions = ChatSession.objects.only("title", "deleted_at").filter(project_id=project_id).in_bulk(named)
    names = ChatSession.objects.names_of(sessions.values())
    return [_happened(row, sessions.get(row.session_id) if row.session_id else None, names) for row in found]


def _happened(row: Event, about: ChatSession | None, names: dict[uuid.UUID, str]) -> Happened:
    by = orjson.loads(row.frame).get("by", {})
    name = by.get("key") or by.get("user", "")
    if about is None:
        return Happened(row.event_seq, row.type, row.at, name, row.session_id, None, open=False)
    return Happened(row.event_seq, row.type, row.at, name, row.session_id, names[about.id], open=about.deleted_at is None)
