"""Moves of several sessions to one project, and the undo of such a move."""

import uuid
from datetime import datetime

from sessions_app.chats.lifecycle.bulk.work import Act, Change, MadeMove, Work
from sessions_app.chats.sessions.services import ExternalIdTaken
from sessions_app.core.errors import Conflict, Invalid
from sessions_app.core.storage.transactions import StaleRead
from sessions_app.models import Caller, ChatSession, Event, Project
from sessions_app.models.event import EventType
from sessions_app.projects.queries import ProjectDeleted, ProjectNotFound, get_project


class StricterProject(Conflict):
    code = "stricter_project"
    message = (
        "That project replaces secrets in messages before they are stored, and this session's project does not. "
        "Transfer the messages instead: a transfer checks them for secrets."
    )


class NotMovedBack(Conflict):
    """A move cannot be undone any more, for the reason given. Nothing was changed."""

    code = "not_moved_back"

    def __init__(self, reason: str) -> None:
        super().__init__(f"Nothing was moved back: {reason}")


def check_target(caller: Caller, change: Change) -> None:
    """Raises ProjectNotFound and ProjectDeleted; if it is an undo, NotMovedBack."""
    if change.to_project is None:
        return
    try:
        get_project(caller=caller, project_id=change.to_project)
    except (ProjectNotFound, ProjectDeleted) as error:
        if change.undoes is None:
            raise
        in_trash = isinstance(error, ProjectDeleted)
        where = "in the trash. Restore the project first." if in_trash else "deleted."
        raise NotMovedBack(f"the old project is {where}") from None


def move(work: Work) -> list[ChatSession]:
    """Raises Invalid, StricterProject and ExternalIdTaken; if it is an undo, NotMovedBack."""
    if work.change.to_project is None:
        raise Invalid("Name the project to move them to.", details={"field": "to_project"})
    target, undoes = work.projects.get(work.change.to_project), work.change.undoes
    if target is None or target.deleted_at is not None:  # Deleted while this waited for its lock.
        raise StaleRead
    rows = [row for row in work.rows if row.project_id != target.id]
    if undoes is not None:  # What was moved again stays: the later move counts.
        rows = [row for row in rows if row.project_id == undoes.to]
        again = _came_again(undoes, rows)
        rows = [row for row in rows if row.id not in again]
    _refuse_stricter(work, target, rows)
    _refuse_taken(work, target, [row.external_id for row in rows if row.external_id is not None])
    work.leave_current(rows)
    work.update(rows, project_id=target.id)
    sources: dict[uuid.UUID, list[ChatSession]] = {}
    for row in rows:
        sources.setdefault(row.project_id, []).append(row)
        row.project_id = target.id
    _choose_current(work, rows)
    made = MadeMove(target.id, target.event_seq + len(rows), _unarchived(target, rows))  # One event each will be published there.
    for source, some in sources.items():
        work.undo_by(Act.MOVE, some, to_project=source, undoes=made)
    return rows


def _choose_current(work: Work, rows: list[ChatSession]) -> None:
    live, undoes = [row for row in rows if row.archive_requested_at is None], work.change.undoes
    if undoes is None:
        first = work.change.current | work.left
        work.become_current(sorted(live, key=lambda row: row.id not in first))
        return
    work.become_current([row for row in live if row.id in work.change.current])
    if undoes.archived is not None:
        session_id, archived_at = undoes.archived
        moved = [row.id for row in live if row.id == session_id]
        ChatSession.objects.filter(id__in=moved, archived_at=None).update(archived_at=archived_at)


def _unarchived(target: Project, rows: list[ChatSession]) -> tuple[uuid.UUID, datetime] | None:
    became = [(row.id, row.archived_at) for row in rows if row.id == target.current_session_id]
    return next(((one, at) for one, at in became if at is not None), None)


def _came_again(made: MadeMove, rows: list[ChatSession]) -> set[uuid.UUID | None]:
    """Those that left that project since, and were moved there once more."""
    arrivals = Event.objects.filter(project_id=made.to, event_seq__gt=made.event_seq, type=EventType.SESSION_CREATED)
    return set(arrivals.filter(session_id__in=[row.id for row in rows]).values_list("session_id", flat=True))


def _removes_secrets(project: Project) -> bool:
    return bool(project.settings.get("redaction") == "redact")


def _refuse_stricter(work: Work, target: Project, rows: list[ChatSession]) -> None:
    """An undo brings back what the target had, unless something was changed since where secrets stay. Events tell, because no
    text is stored without one: not every conflict copy changes a session's rev."""
    if not _removes_secrets(target) or all(_removes_secrets(work.projects[row.project_id]) for row in rows):
        return
    made = work.change.undoes
    if made is None:
        raise StricterProject
    log = Event.objects.filter(project_id=made.to)
    later = log.filter(event_seq__gt=made.event_seq, session_id__in=[row.id for row in rows])
    # Old events are pruned: then nobody knows.
    if later.exists() or not log.filter(event_seq=made.event_seq).exists():
        raise NotMovedBack(
            "the old project removes secrets from messages, and the session was changed since where they stay. "
            "Transfer the messages instead: a transfer checks them for secrets."
        )


def _refuse_taken(work: Work, target: Project, external_ids: list[str]) -> None:
    if len(set(external_ids)) < len(external_ids):
        raise ExternalIdTaken("Nothing was moved: two of these sessions have the same external_id.")
    taken = ChatSession.objects.filter(project=target, external_id__in=external_ids).only("id", "external_id").first()
    if taken is None:
        return
    if work.change.undoes is not None:
        raise NotMovedBack("another session of the old project has the same external_id now.")
    said = f"Nothing was moved: {target.label} has another session with the external_id {taken.external_id}."
    raise ExternalIdTaken(said, details={"session": str(taken.id)})
