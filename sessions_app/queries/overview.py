"""Projects as their owner looks over them: what goes on in each, in a constant number of statements."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Count, Max
from django.db.models.functions import TruncDate

from sessions_app.models import Caller, ChatSession, Event, Project
from sessions_app.models.event import KEPT_FOR
from sessions_app.models.sql import now
from sessions_app.queries.projects import list_projects

# What the log can tell.
DAYS = KEPT_FOR.days
LIVE = timedelta(seconds=10)
# What other contexts count in projects, by a name of theirs; put here when they are ready.
COUNTS: dict[str, Callable[[list[uuid.UUID]], dict[uuid.UUID, int]]] = {}
NOTHING = (0, datetime.min.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class ProjectOverview:
    """`activity`: events a day, the oldest of the last 7 days first. `live`: something happened just now. `counts`: by others."""

    project: Project
    current: ChatSession | None
    sessions: int
    messages: int
    last_activity: datetime
    activity: list[int]
    live: bool
    counts: dict[str, int]


def list_overviews(
    *, caller: Caller, text: str = "", after: tuple[datetime, uuid.UUID] | None = None, limit: int = 50
) -> list[ProjectOverview]:
    """The caller's projects, the one changed last first; one more than `limit` where there are more."""
    projects = list_projects(caller=caller, text=text, after=after, limit=limit)
    ids = [project.id for project in projects]
    current = ChatSession.objects.in_bulk([project.current_session_id for project in projects if project.current_session_id])
    sessions = ChatSession.objects.filter(project_id__in=ids, deleted_at=None).values("project_id")
    totals: dict[Any, Any] = {row["project_id"]: row for row in sessions.annotate(count=Count("id"), last=Max("updated_at"))}
    days, counts = _events_by_day(ids), {name: count(ids) for name, count in COUNTS.items()}
    at = now()
    lately = at - LIVE
    made = []
    for project in projects:
        total = totals.get(project.id, {"count": 0, "last": None})
        session = current.get(project.current_session_id) if project.current_session_id else None
        made.append(
            ProjectOverview(
                project=project,
                current=session,
                sessions=total["count"],
                messages=session.message_count if session else 0,
                last_activity=max(project.updated_at, total["last"] or project.updated_at),
                activity=[days.get((project.id, at.date() - timedelta(days=back)), NOTHING)[0] for back in reversed(range(DAYS))],
                live=days.get((project.id, at.date()), NOTHING)[1] >= lately,
                counts={name: found.get(project.id, 0) for name, found in counts.items()},
            )
        )
    return made


def _events_by_day(project_ids: list[uuid.UUID]) -> dict[tuple[uuid.UUID, date], tuple[int, datetime]]:
    """How many, and when the last one was."""
    since = now() - timedelta(days=DAYS)
    events = Event.objects.filter(project_id__in=project_ids, at__gte=since).annotate(day=TruncDate("at"))
    rows = events.values("project_id", "day").annotate(count=Count("id"), last=Max("at")).order_by()
    return {(row["project_id"], row["day"]): (row["count"], row["last"]) for row in rows}
