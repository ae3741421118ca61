"""Overview of the caller's projects and their activity, in a constant number of statements."""

import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Sum
from django.db.models.functions import TruncDate

from sessions_app.chats.lifecycle.removed_queries import count_conflicts
from sessions_app.core.extension import extensions
from sessions_app.models import Caller, ChatSession, Event, Project
from sessions_app.models.event import KEPT_FOR
from sessions_app.models.times import now
from sessions_app.projects.queries import list_projects

# Limited by how long the event log is kept.
DAYS = KEPT_FOR.days
LIVE = timedelta(seconds=10)
TOTALS = {"count": Count("id"), "messages": Sum("message_count"), "last": Max("updated_at")}
NOTHING = (0, datetime.min.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class ProjectOverview:
    """`activity`: events a day for the last 7 days, oldest first. `live`: an event just now. `messages`: of all its sessions that
    are not in the trash. `counts`: added by other apps.
    `current`: the name of the current session; empty if there is none. `to_settle`: its open conflict copies."""

    project: Project
    current: str
    to_settle: int
    sessions: int
    messages: int
    last_activity: datetime
    activity: list[int]
    live: bool
    counts: dict[str, int]


def list_overviews(
    *, caller: Caller, text: str = "", after: tuple[datetime, uuid.UUID] | None = None, limit: int = 50
) -> list[ProjectOverview]:
    """The caller's projects, last changed first; one more than `limit` if there are more."""
    projects = list_projects(caller=caller, text=text, after=after, limit=limit)
    ids = [project.id for project in projects]
    current = ChatSession.objects.in_bulk([project.current_session_id for project in projects if project.current_session_id])
    names, to_settle = ChatSession.objects.names_of(current.values()), count_conflicts(current)
    sessions = ChatSession.objects.filter(project_id__in=ids, deleted_at=None).values("project_id")
    totals: dict[Any, Any] = {row["project_id"]: row for row in sessions.annotate(**TOTALS)}
    days = _events_by_day(ids)
    counts = {name: count(ids) for extension in extensions() for name, count in extension.project_counts.items()}
    at = now()
    lately = at - LIVE
    made = []
    for project in projects:
        total = totals.get(project.id, {"count": 0, "messages": 0, "last": None})
        made.append(
            ProjectOverview(
                project=project,
                current=names.get(project.current_session_id, "") if project.current_session_id else "",
                to_settle=to_settle.get(project.current_session_id, 0) if project.current_session_id else 0,
                sessions=total["count"],
                messages=total["messages"],
                last_activity=max(project.updated_at, total["last"] or project.updated_at),
                activity=[days.get((project.id, at.date() - timedelta(days=back)), NOTHING)[0] for back in reversed(range(DAYS))],
                live=days.get((project.id, at.date()), NOTHING)[1] >= lately,
                counts={name: found.get(project.id, 0) for name, found in counts.items()},
            )
        )
    return made


def _events_by_day(project_ids: list[uuid.UUID]) -> dict[tuple[uuid.UUID, date], tuple[int, datetime]]:
    """The number of events, and the time of the last one."""
    since = now() - timedelta(days=DAYS)
    events = Event.objects.filter(project_id__in=project_ids, at__gte=since).annotate(day=TruncDate("at"))
    rows = events.values("project_id", "day").annotate(count=Count("id"), last=Max("at")).order_by()
    return {(row["project_id"], row["day"]): (row["count"], row["last"]) for row in rows}
