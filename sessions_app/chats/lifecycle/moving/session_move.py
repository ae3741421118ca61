"""Moving a whole session to another project: its messages, states and history move with it, and its id stays."""

import uuid
from dataclasses import dataclass
from typing import Any

import orjson
from django.db.models import F

from sessions_app.chats.locking import lock_project_and_current, lock_session
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.chats.saving import receipts
from sessions_app.chats.saving.receipts import Answer, Request
from sessions_app.chats.sessions.services import refuse_taken
from sessions_app.core.errors import Conflict, NotFound
from sessions_app.core.storage.transactions import write
from sessions_app.core.web.preconditions import ANY, Conditions
from sessions_app.events import event_log
from sessions_app.models import Caller, ChatSession, Project
from sessions_app.models.event import EventType
from sessions_app.models.session import SessionState
from sessions_app.models.times import now
from sessions_app.projects.queries import find_project


class StricterProject(Conflict):
    code = "stricter_project"
    message = (
        "That project replaces secrets in messages before they are stored, and this session's project does not. "
        "Transfer the messages instead: a transfer checks them for secrets."
    )


class NoSuchPlace(NotFound):
    kind = "project"
    message = "You have no project at this path. List your projects; a key may be limited to one."


@dataclass(frozen=True, slots=True)
class Move:
    """`path`: of one of the caller's projects. `request`: identifies the move, so that a retry gets the stored answer."""

    path: str
    conditions: Conditions = ANY
    request: Request | None = None


def move_to_path(*, caller: Caller, session_id: uuid.UUID, move: Move) -> Answer:
    """Move to the project at a path: 200 with the session. It becomes the current session there only if the project has none.

    Raises NoSuchPlace, PreconditionFailed, StricterProject, ExternalIdTaken. Pages move by `bulk`, which has an undo.
    """

    def work() -> Answer:
        get_session(caller=caller, session_id=session_id)
        if (answered := _answered(move)) is not None:
            return answered
        project = find_project(caller=caller, path=move.path)
        if project is None:
            raise NoSuchPlace
        row = _lock(caller, session_id, project.id)
        if (answered := _answered(move)) is not None:
            return answered
        move.conditions.check_etag(row.etag)
        moved = _move_locked(caller, row, project.id)
        answer = Answer(200, orjson.dumps(moved.as_json()), moved.etag)
        return answer if move.request is None else receipts.keep(move.request, answer)

    return write(work)


def _answered(move: Move) -> Answer | None:
    return None if move.request is None else receipts.find(move.request)


def _lock(caller: Caller, session_id: uuid.UUID, project_id: uuid.UUID) -> SessionRow:
    """The session, read under the locks of both projects: it may have moved while this waited for them."""
    there = get_session(caller=caller, session_id=session_id).project_id
    lock_project_and_current(caller=caller, project_id=project_id, also=session_id, also_project=there)
    lock_session(caller=caller, session_id=session_id)
    return get_session(caller=caller, session_id=session_id)


def _move_locked(caller: Caller, row: SessionRow, project_id: uuid.UUID) -> SessionRow:
    if row.project_id == project_id:
        return row
    source, target = (Project.objects.get(id=found) for found in (row.project_id, project_id))
    if removes_secrets(target) and not removes_secrets(source):
        raise StricterProject
    refuse_taken(target, row.external_id)
    _move(source, target, row)
    told: dict[str, Any] = {"caller": caller, "session_id": row.id, "epoch": row.epoch, "rev": row.rev + 1}
    event_log.publish(project_id=source.id, type=EventType.SESSION_UPDATED, data={"moved": True}, **told)
    event_log.publish(project_id=target.id, type=EventType.SESSION_CREATED, **told)
    return get_session(caller=caller, session_id=row.id)


def removes_secrets(project: Project) -> bool:
    return bool(project.settings.get("redaction") == "redact")


def _move(source: Project, target: Project, row: SessionRow) -> None:
    at = now()
    if source.current_session_id == row.id:
        source.current_session_id = None
        source.save(update_fields=["current_session"])
    becomes_current = target.current_session_id is None and row.state != SessionState.ARCHIVED
    changed = {"archived_at": None} if becomes_current else {}
    ChatSession.objects.filter(id=row.id).update(project_id=target.id, rev=F("rev") + 1, updated_at=at, **changed)
    if becomes_current:
        target.current_session_id = row.id
    target.updated_at = at
    target.save(update_fields=["current_session", "updated_at"])
