"""A project's log of events, for reading."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from sessions_app.models import ChatSession, Event


@dataclass(frozen=True, slots=True)
class Happened:
    """`by`: the key's name, or the user's. `title`: what pages call the session; None if it concerns no session, or an
    erased one. `open`: the session can be viewed. `about`: what else it names, as a memory entry."""

    event_seq: int
    type: str
    at: datetime
    by: str
    session_id: uuid.UUID | None
    title: str | None
    open: bool
    about: str = ""


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


def _happened(row: Event, session: ChatSession | None, names: dict[uuid.UUID, str]) -> Happened:
    frame = orjson.loads(row.frame)
    by, about = frame.get("by", {}), _about(frame.get("data") or {})
    name = by.get("key") or by.get("user", "")
    if session is None:
        return Happened(row.event_seq, row.type, row.at, name, row.session_id, None, False, about)
    return Happened(row.event_seq, row.type, row.at, name, row.session_id, names[session.id], session.deleted_at is None, about)


def _about(data: dict[str, Any]) -> str:
    """Of an event about one entry its place, of one about several the first and how many more."""
    first = (data.get("entries") or [data])[0]
    if "namespace" not in first:
        return ""
    more = data.get("count", 1) - 1
    return f"{_place(first)} and {more:,} more" if more > 0 else _place(first)


def _place(entry: dict[str, Any]) -> str:
    namespace = entry["namespace"]
    labels = [namespace] if isinstance(namespace, str) else [*namespace]
    place = " / ".join(map(str, [*labels, *([entry["key"]] if "key" in entry else [])])) or "everything"
    return f"{place}, deleted" if entry.get("deleted") or "purged" in entry else place
