"""The locks that changes take, always in this order: sessions by id, then their projects by id.

A save locks its session, and its project's row at the end, for the event's number. Code that needs both takes them in
this order, or two transactions could deadlock.
"""

import uuid
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import transaction

from sessions_app.chats.reading.sessions import SessionDeleted, SessionNotFound
from sessions_app.core.errors import Unavailable
from sessions_app.core.storage.sql import as_uuid, db_time, db_uuid, fetch_row, on_postgresql, table_of, write_later
from sessions_app.core.storage.statement_batch import Batch
from sessions_app.core.storage.store_incarnation import incarnation
from sessions_app.core.storage.transactions import StaleRead
from sessions_app.events import event_log
from sessions_app.models import Caller, ChatSession, Project
from sessions_app.models.live import Live
from sessions_app.models.project import DEFAULT_REDACTION
from sessions_app.models.times import now
from sessions_app.projects.queries import get_project

_COLUMNS = """s.epochs_ahead, s.epoch, s.revived_rev, s.revived_to, s.revived_revs, s.rev, s.last_position, s.message_count,
    s.size_bytes, s.opening_step, s.head, p.settings ->> 'redaction', s.deleted_at, p.deleted_at, p.id"""
_LOCK = f"""
SELECT {_COLUMNS} FROM sessions_app_chatsession s JOIN sessions_app_project p ON p.id = s.project_id
WHERE s.id = %s AND p.owner_id = %s
"""  # noqa: S608 - constants only
_MANY = """
FROM {given} CROSS JOIN sessions_app_chatsession s CROSS JOIN sessions_app_project p
WHERE s.id = given.c0 AND p.id = s.project_id AND p.owner_id = given.c1
"""
_HOME = "SELECT project_id FROM sessions_app_chatsession WHERE id = %s"
_UPDATE = (
    "UPDATE sessions_app_chatsession SET epoch = %s, rev = %s, last_position = %s, message_count = %s, size_bytes = %s, "
    "opening_step = %s, head = %s, updated_at = %s WHERE id = %s"
)


@dataclass(slots=True)
class LockedSession:
    """A session's counters, locked until the commit. `epoch`: as clients know it. `live`: which messages are live."""

    id: uuid.UUID
    project_id: uuid.UUID
    live: Live
    epoch: int
    rev: int
    last_position: int
    message_count: int
    size_bytes: int
    opening_step: str
    # The last message of the path; '' = the path is empty; None: the session has no branches.
    head: str | None
    # The project's setting for secrets in messages.
    redaction: str = DEFAULT_REDACTION

    @property
    def etag(self) -> str:
        return f'"{incarnation()}.{self.epoch}.{self.rev}"'

    def write(self) -> None:
        """Store the counters as they are now. After a change of `epoch` or of the restored range, call `store_epoch`."""
        counters: list[Any] = [self.live.epoch, self.rev, self.last_position, self.message_count, self.size_bytes]
        write_later(_UPDATE, [[*counters, self.opening_step, self.head, db_time(now()), db_uuid(self.id)]])

    def store_epoch(self) -> None:
        """Store the columns that `write` leaves out because saves never change them."""
        _, rev, to, revs = self.live
        revived = {"revived_rev": rev or None, "revived_to": to or None, "revived_revs": revs if revs > 1 else None}
        ChatSession.objects.filter(id=self.id).update(epochs_ahead=self.epoch - self.live.epoch or None, **revived)

    def publish(self, type: str, caller: Caller, *, writer_id: str | None = None, data: dict[str, Any] | None = None) -> None:
        """Publish an event about this session as it is now. Call it last in a transaction (see `event_log.publish`)."""
        event_log.publish(
            project_id=self.project_id,
            type=type,
            caller=caller,
            session_id=self.id,
            epoch=self.epoch,
            rev=self.rev,
            writer_id=writer_id,
            data=data,
        )


def lock_session(*, caller: Caller, session_id: uuid.UUID, in_trash: bool = False) -> LockedSession:
    """One of the caller's sessions, locked: SQLite's transaction is the lock already, PostgreSQL locks the row.

    Unknown or not yours → 404; in the trash → 410, unless `in_trash`.
    """
    found = fetch_row(_lock(), [db_uuid(session_id), caller.user_id])
    if found is None:
        # While this waited for the lock it may have moved to another project, so that the join found no row.
        if on_postgresql() and ChatSession.objects.filter(id=session_id, project__owner_id=caller.user_id).exists():
            raise StaleRead
        raise SessionNotFound
    counters: list[Any]
    (
        ahead,
        epoch,
        revived_rev,
        revived_to,
        revived_revs,
        *counters,
        opening_step,
        head,
        redaction,
        deleted_at,
        project_deleted_at,
        project_id,
    ) = found
    project = as_uuid(project_id)
    if caller.project_id not in {None, project}:
        raise SessionNotFound
    if not in_trash and (deleted_at is not None or project_deleted_at is not None):
        raise SessionDeleted(session_id)
    live = Live(epoch, revived_rev or 0, revived_to or 0, revived_revs or 1)
    counters = [live, epoch + (ahead or 0), *counters]
    return LockedSession(session_id, project, *[*counters, opening_step, head, redaction or DEFAULT_REDACTION])


@cache
def _lock() -> str:
    return f"{_LOCK} FOR NO KEY UPDATE OF s" if on_postgresql() else _LOCK


def many(owned: list[tuple[uuid.UUID, int]]) -> list[tuple[str, list[Any]]]:
    """Queries that lock these sessions of these users, and then their projects: rows for `rows_of`.

    Rows locked by another transaction are skipped: waiting for one would delay the whole batch.
    """
    given, parameters = table_of(("uuid", "bigint"), [(db_uuid(session_id), user_id) for session_id, user_id in owned])
    many = _MANY.format(given=given)
    if not on_postgresql():  # The transaction is the lock, of both.
        return [(f"SELECT s.id, p.owner_id, {_COLUMNS}, p.event_seq, p.path {many}", parameters)]
    sessions = f"SELECT s.id, p.owner_id, {_COLUMNS} {many} ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED"
    projects = f"SELECT p.id, p.event_seq, p.path FROM sessions_app_project p WHERE p.id IN (SELECT p.id {many})"  # noqa: S608
    return [(sessions, parameters), (f"{projects} ORDER BY p.id FOR NO KEY UPDATE OF p SKIP LOCKED", parameters)]


def rows_of(answers: list[list[Any]]) -> tuple[list[Any], list[Any]]:
    """The sessions and the projects in the answers to `many`: rows for `put_ahead`."""
    if len(answers) > 1:
        return answers[0], answers[1]
    return [row[:-2] for row in answers[0]], [row[-3:] for row in answers[0]]


def put_ahead(batch: Batch, sessions: list[Any], projects: list[Any]) -> set[uuid.UUID]:
    """Prefetch rows for `lock_session` and for event numbers. Returns the sessions that were locked with their project."""
    for project_id, event_seq, path in projects:
        batch.put_number(project_id, event_seq, path)
    numbered = {project_id for project_id, _, _ in projects}
    locked = [row for row in sessions if row[-1] in numbered]
    for session, owner_id, *found in locked:
        batch.put(session, _lock(), [session, owner_id], [found])
    return {as_uuid(row[0]) for row in locked}


def epochs_of(sessions: list[Any]) -> dict[Any, int]:
    """Of the rows of sessions, as they are stored."""
    return {session: epoch for session, _, _, epoch, *_ in sessions}


class _Moved(Exception):
    """Another session became current between the read and the lock."""


def lock_project_and_current(
    *, caller: Caller, project_id: uuid.UUID, also: uuid.UUID | None = None, also_project: uuid.UUID | None = None
) -> Project:
    """Lock the project and its current session (and one more session, one more project), so that the current one cannot change.

    Unknown or not yours → 404; in the trash → 410. Raises StaleRead if the session is in neither project by now. Has no
    effect on SQLite, whose transaction is the lock.
    """
    if not on_postgresql():
        return _check_moves(caller, project_id, also, also_project)
    for attempt in range(10):
        try:
            # Rolling back a savepoint releases the locks taken in it.
            with transaction.atomic():
                if attempt:
                    _take_turn(project_id)
                return _try_to_lock(caller, project_id, also, also_project)
        except _Moved:
            continue
    raise Unavailable(retry_after=1)


def _take_turn(project_id: uuid.UUID) -> None:
    """One at a time of those whom others were ahead of: else of many that begin sessions at once some were always too late."""
    fetch_row("SELECT pg_advisory_xact_lock(%s)", [project_id.int >> 65])


def _check_moves(caller: Caller, project_id: uuid.UUID, also: uuid.UUID | None, also_project: uuid.UUID | None) -> Project:
    """The same checks where nothing can change between them."""
    found = None if also is None else fetch_row(_HOME, [db_uuid(also)])
    if found is not None and as_uuid(found[0]) not in {project_id, also_project}:
        raise StaleRead
    return get_project(caller=caller, project_id=project_id)


def _try_to_lock(caller: Caller, project_id: uuid.UUID, also: uuid.UUID | None, also_project: uuid.UUID | None) -> Project:
    former = get_project(caller=caller, project_id=project_id).current_session_id
    wanted = sorted({session_id for session_id in (former, also) if session_id is not None})
    sessions = ChatSession.objects.select_for_update(no_key=True).filter(id__in=wanted).order_by("id")
    of_project = dict(sessions.values_list("id", "project_id"))
    if also in of_project and of_project[also] not in {project_id, also_project}:
        raise StaleRead
    projects = (
        Project.objects.select_for_update(no_key=True).filter(id__in={project_id, also_project or project_id}).order_by("id")
    )
    project = next((found for found in projects if found.id == project_id), None)
    # Erased, moved to the trash or switched to another session meanwhile: the next try reports which.
    if project is None or project.deleted_at is not None or project.current_session_id != former:
        raise _Moved
    return project
