"""The locks that changes take, always in this order: sessions by id, then their projects by id.

A save locks its session, and its project's row at the end, for the event's number. Whoever needs both takes them in
the same order, or two of them could wait for each other.
"""

import uuid
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from sessions_app.errors import Unavailable
from sessions_app.models import Caller, ChatSession, Project
from sessions_app.models.project import DEFAULT_REDACTION
from sessions_app.models.sql import db_time, db_uuid, execute, fetch_row, now, on_postgresql
from sessions_app.queries.projects import get_project
from sessions_app.queries.sessions import SessionDeleted, SessionNotFound, as_uuid

_LOCK = """
SELECT s.epoch, s.rev, s.last_position, s.message_count, s.size_bytes, s.opening_step,
    p.settings ->> 'redaction', s.deleted_at, p.deleted_at, p.id
FROM sessions_app_chatsession s JOIN sessions_app_project p ON p.id = s.project_id
WHERE s.id = %s AND p.owner_id = %s
"""
_UPDATE = (
    "UPDATE sessions_app_chatsession SET epoch = %s, rev = %s, last_position = %s, message_count = %s, size_bytes = %s, "
    "opening_step = %s, updated_at = %s WHERE id = %s"
)


@dataclass(slots=True)
class LockedSession:
    """A session's counters, held until the commit."""

    id: uuid.UUID
    project_id: uuid.UUID
    epoch: int
    rev: int
    last_position: int
    message_count: int
    size_bytes: int
    opening_step: str
    # What the project does about secrets in messages.
    redaction: str = DEFAULT_REDACTION

    def write(self) -> None:
        """Store the counters as they are now."""
        counters: list[Any] = [self.epoch, self.rev, self.last_position, self.message_count, self.size_bytes]
        execute(_UPDATE, [*counters, self.opening_step, db_time(now()), db_uuid(self.id)])


def lock_session(*, caller: Caller, session_id: uuid.UUID) -> LockedSession:
    """One of the caller's sessions, locked: SQLite's transaction is the lock already, PostgreSQL locks the row.

    Unknown or not yours → 404; in the trash → 410.
    """
    for_update = " FOR NO KEY UPDATE OF s" if on_postgresql() else ""
    found = fetch_row(_LOCK + for_update, [db_uuid(session_id), caller.user_id])
    if found is None:
        raise SessionNotFound
    counters: list[Any]
    *counters, opening_step, redaction, deleted_at, project_deleted_at, project_id = found
    project = as_uuid(project_id)
    if caller.project_id not in {None, project}:
        raise SessionNotFound
    if deleted_at is not None or project_deleted_at is not None:
        raise SessionDeleted
    return LockedSession(session_id, project, *[*counters, opening_step, redaction or DEFAULT_REDACTION])


class _Moved(Exception):
    """Another session became current between the look and the lock."""


def lock_project_and_current(
    *, caller: Caller, project_id: uuid.UUID, also: uuid.UUID | None = None, also_project: uuid.UUID | None = None
) -> Project:
    """The project and its current session (and one more session, one more project), locked: "who is current" has one answer.

    Unknown or not yours → 404; in the trash → 410. Has no effect on SQLite, whose transaction is the lock.
    """
    for _ in range(10):
        try:
            # A savepoint that is rolled back gives back the locks taken in it.
            with transaction.atomic():
                return _try_to_lock(caller, project_id, also, also_project)
        except _Moved:
            continue
    raise Unavailable(retry_after=1)


def _try_to_lock(caller: Caller, project_id: uuid.UUID, also: uuid.UUID | None, also_project: uuid.UUID | None) -> Project:
    former = get_project(caller=caller, project_id=project_id).current_session_id
    wanted = sorted({session_id for session_id in (former, also) if session_id is not None})
    sessions = ChatSession.objects.select_for_update(no_key=True).filter(id__in=wanted).order_by("id")
    list(sessions.values_list("id"))
    projects = (
        Project.objects.select_for_update(no_key=True).filter(id__in={project_id, also_project or project_id}).order_by("id")
    )
    project = next((found for found in projects if found.id == project_id), None)
    # Erased, put into the trash or turned to another session meanwhile: the next try is told which.
    if project is None or project.deleted_at is not None or project.current_session_id != former:
        raise _Moved
    return project
