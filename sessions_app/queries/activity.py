"""A project's log of events, for reading."""

import uuid
from dataclasses import dataclass
from datetime import datetime

import orjson

from sessions_app.models import ChatSession, Event


@dataclass(frozen=True, slots=True)
class Happened:
    """`by`: the key's name, or the user's. `title`: None where it is about no session, or about one that is gone."""

    event_seq: int
    type: str
    at: datetime
    by: str
    session_id: uuid.UUID | None
    title: str | None


def list_newest_events(*, project_id: uuid.UUID, before: int | None = None, limit: int = 100) -> list[Happened]:
    """The newest first; one more than `limit` where there are more. The project is the caller's."""
    rows = Event.objects.filter(project_id=project_id)
    if before is not None:
        rows = rows.filter(event_seq__lt=before)
    found = list(rows.order_by("-event_seq")[: limit + 1])
    named = {row.session_id for row in found if row.session_id}
    titles = dict(ChatSession.objects.filter(id__in=named, project_id=project_id, deleted_at=None).values_list("id", "title"))
    return [_happened(row, titles) for row in found]


def _happened(row: Event, titles: dict[uuid.UUID, str]) -> Happened:
    by = orjson.loads(row.frame).get("by", {})
    title = titles.get(row.session_id) if row.session_id else None
    return Happened(row.event_seq, row.type, row.at, by.get("key") or by.get("user", ""), row.session_id, title)
