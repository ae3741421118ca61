"""What a user's sessions and projects add up to, in a constant number of statements."""

import uuid
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from sessions_app.core.extension import extensions
from sessions_app.core.storage.sql import as_uuid, db_time, db_uuid, fetch_rows
from sessions_app.models import ChatSession
from sessions_app.models.times import now

TOP = 5
AGENTS = 12
BUSY_FOR = timedelta(days=7)
_OWN = (
    "JOIN sessions_app_project p ON p.id = s.project_id WHERE p.owner_id = %s AND p.deleted_at IS NULL AND s.deleted_at IS NULL"
)
_TOTALS = (
    "SELECT p.id, p.name, p.path, COUNT(s.id), COALESCE(SUM(s.message_count), 0), COALESCE(SUM(s.size_bytes), 0) "
    "FROM sessions_app_project p LEFT JOIN sessions_app_chatsession s ON s.project_id = p.id AND s.deleted_at IS NULL "
    "WHERE p.owner_id = %s AND p.deleted_at IS NULL{only} GROUP BY p.id, p.name, p.path ORDER BY 5 DESC, p.path"
)
_AGENTS = (
    "SELECT a.ai_id, COUNT(*), SUM(s.message_count) FROM sessions_app_aistate a "  # noqa: S608
    f"JOIN sessions_app_chatsession s ON s.id = a.session_id {_OWN} AND a.content IS NOT NULL{{only}} "
    f"GROUP BY a.ai_id ORDER BY 2 DESC, a.ai_id LIMIT {AGENTS}"
)
_LONGEST = (
    "SELECT s.id, s.title, p.path, s.message_count FROM sessions_app_chatsession s "  # noqa: S608
    f"{_OWN} AND s.message_count > 0{{only}} ORDER BY s.message_count DESC, s.id LIMIT {TOP}"
)
_BUSIEST = (
    "SELECT s.id, s.title, p.path, s.rev FROM sessions_app_chatsession s "  # noqa: S608
    f"{_OWN} AND s.updated_at >= %s{{only}} ORDER BY s.rev DESC, s.id LIMIT {TOP}"
)


@dataclass(frozen=True, slots=True)
class ProjectTotals:
    """`counts`: added by other apps, by name."""

    id: uuid.UUID
    label: str
    path: str
    sessions: int
    messages: int
    size_bytes: int
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionFigure:
    """`title`: what pages call it."""

    id: uuid.UUID
    title: str
    project_path: str
    number: int


@dataclass(frozen=True, slots=True)
class AgentFigure:
    """An AI with a state in these sessions, which have so many messages."""

    name: str
    sessions: int
    messages: int


@dataclass(frozen=True, slots=True)
class Figures:
    """`projects` and `longest`: by messages, the most first. `busiest`: of the last 7 days, by changes ever made."""

    projects: list[ProjectTotals]
    agents: list[AgentFigure]
    longest: list[SessionFigure]
    busiest: list[SessionFigure]

    @property
    def sums(self) -> dict[str, int]:
        names = {name for project in self.projects for name in project.counts}
        added = {name: sum(project.counts.get(name, 0) for project in self.projects) for name in names}
        own = {name: sum(getattr(project, name) for project in self.projects) for name in ("sessions", "messages", "size_bytes")}
        return own | added


def read_figures(*, user_id: int, project_id: uuid.UUID | None = None) -> Figures:
    """Of all of the user's projects, or of one of them, which the caller must have checked."""
    only, own = ("", []) if project_id is None else (" AND p.id = %s", [db_uuid(project_id)])

    def rows(sql: str, *values: Any) -> list[Any]:
        return fetch_rows(sql.format(only=only), [user_id, *values, *own])

    return Figures(
        projects=_projects(rows(_TOTALS)),
        agents=[AgentFigure(name, int(sessions), int(messages)) for name, sessions, messages in rows(_AGENTS)],
        longest=_sessions(rows(_LONGEST)),
        busiest=_sessions(rows(_BUSIEST, db_time(now() - BUSY_FOR))),
    )


def _projects(rows: list[Any]) -> list[ProjectTotals]:
    ids = [as_uuid(row[0]) for row in rows]
    counts = {name: count(ids) for extension in extensions() for name, count in extension.overview_counts.items()}
    return [
        ProjectTotals(
            project_id,
            name or path.rstrip("/").rsplit("/", 1)[-1] or path,
            path,
            int(sessions),
            int(messages),
            int(size_bytes),
            {kind: found.get(project_id, 0) for kind, found in counts.items()},
        )
        for project_id, (_, name, path, sessions, messages, size_bytes) in zip(ids, rows, strict=True)
    ]


def _sessions(rows: list[Any]) -> list[SessionFigure]:
    found = [SessionFigure(as_uuid(session_id), title, path, int(number)) for session_id, title, path, number in rows]
    names = ChatSession.objects.names_of(found)
    return [replace(figure, title=names[figure.id]) for figure in found]
