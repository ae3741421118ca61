"""Soft delete (trash), restore and purge of sessions and projects."""

import uuid
from datetime import datetime
from typing import NamedTuple

from django.contrib.auth import get_user_model
from django.db import IntegrityError
from django.db.models import F, Q

from sessions_app.chats.files.services import delete_content
from sessions_app.chats.lifecycle.erasing import paced
from sessions_app.chats.lifecycle.erasing.rows import erase_project, erase_sessions
from sessions_app.chats.lifecycle.removed_queries import RESTORABLE_FOR
from sessions_app.chats.locking import lock_project_and_current
from sessions_app.chats.reading.sessions import SessionNotFound, SessionRow, get_session
from sessions_app.chats.saving.services import RevChanged
from sessions_app.core.errors import Conflict, NotFound
from sessions_app.core.storage.sql import as_time, as_uuid, db_uuid, fetch_row
from sessions_app.core.storage.transactions import write
from sessions_app.events import event_log
from sessions_app.models import Caller, ChatSession, ImportJob, Message, Project
from sessions_app.models.event import EventType
from sessions_app.models.import_job import file_of
from sessions_app.models.times import now
from sessions_app.projects.queries import ProjectDeleted, ProjectNotFound, get_project

_FIND = (
    "SELECT p.id, p.deleted_at, s.title, s.deleted_at, s.archived_at FROM sessions_app_chatsession s "
    "JOIN sessions_app_project p ON p.id = s.project_id WHERE s.id = %s AND p.owner_id = %s"
)


class _Session(NamedTuple):
    project_id: uuid.UUID
    title: str
    deleted_at: datetime | None
    is_archived: bool


class PathTaken(Conflict):
    code, message = "path_taken", "Another project uses this path now. Delete that one first, or transfer its sessions."


def delete_session(*, caller: Caller, session_id: uuid.UUID, if_rev: int | None = None) -> None:
    """Move a session to the trash: it is no longer resumed, and later saves are refused with 410. `if_rev`: only if this is its
    rev; otherwise → RevChanged."""

    def work() -> None:
        row = get_session(caller=caller, session_id=session_id)
        project = lock_project_and_current(caller=caller, project_id=row.project_id, also=session_id)
        _check_rev(session_id, if_rev)
        at = now()
        ChatSession.objects.filter(id=session_id).update(deleted_at=at, rev=F("rev") + 1, updated_at=at)
        _leave_current(project, session_id, at)
        _tell(caller, EventType.SESSION_DELETED, project.id, session_id)

    write(work)


def undelete_session(*, caller: Caller, session_id: uuid.UUID) -> SessionRow:
    """Restore from the trash. It becomes the current session only if the project has none."""

    def work() -> SessionRow:
        chat_session = _find_session(caller, session_id)
        _check_restorable(chat_session.deleted_at, SessionNotFound)
        project = lock_project_and_current(caller=caller, project_id=chat_session.project_id, also=session_id)
        at = now()
        ChatSession.objects.filter(id=session_id).update(deleted_at=None, rev=F("rev") + 1, updated_at=at)
        if project.current_session_id is None and not chat_session.is_archived:
            project.current_session_id = session_id
            project.save(update_fields=["current_session"])
        _tell(caller, EventType.SESSION_UPDATED, project.id, session_id)
        return get_session(caller=caller, session_id=session_id)

    return write(work)


def title_of(*, caller: Caller, session_id: uuid.UUID) -> str:
    """The title of one of the caller's sessions, in the trash or not."""
    return _find_session(caller, session_id).title


def purge_session(*, caller: Caller, session_id: uuid.UUID, if_rev: int | None = None) -> None:
    """Erase a session at once, with its messages, conflict copies and stored answers; this cannot be undone. `if_rev`: only if
    this is its rev; otherwise → RevChanged."""

    def work() -> bool:
        chat_session = _find_session(caller, session_id)
        project = lock_project_and_current(caller=caller, project_id=chat_session.project_id, also=session_id)
        _check_rev(session_id, if_rev)
        _leave_current(project, session_id, now())
        _tell(caller, EventType.SESSION_DELETED, project.id, session_id)
        if paced.are_few(Message.objects.filter(session_id=session_id)):
            erase_sessions([session_id])
            return False
        paced.hide([session_id])
        return True

    if write(work):
        paced.erase_hidden([session_id])


def delete_project(*, caller: Caller, project_id: uuid.UUID) -> None:
    """Move a project to the trash with all its sessions; its path is free at once."""

    write(lambda: _put_into_trash(caller, project_id))


def undelete_project(*, caller: Caller, project_id: uuid.UUID) -> Project:
    def work() -> Project:
        project = _find_project(caller, project_id, locked=True)
        if project.deleted_at is None:
            return project
        _check_restorable(project.deleted_at, ProjectNotFound)
        if Project.objects.filter(owner_id=caller.user_id, path=project.path, deleted_at=None).exists():
            raise PathTaken
        project.deleted_at, project.updated_at = None, now()
        try:
            project.save(update_fields=["deleted_at", "updated_at"])
        except IntegrityError:  # Created at this moment.
            raise PathTaken from None
        return get_project(caller=caller, project_id=project_id)

    return write(work)


def purge_project(*, caller: Caller, project_id: uuid.UUID) -> None:
    """Erase the project and everything in it. A long one is moved to the trash first: where this is interrupted, it can be
    purged again there."""

    def work() -> Project | None:
        project = _find_project(caller, project_id)
        if paced.is_short(ChatSession.objects.filter(project=project)):
            erase_project(project)
            return None
        if project.deleted_at is None:
            _put_into_trash(caller, project_id)
        return project

    if (project := write(work)) is not None:
        paced.purge_sessions_of(project)
        write(lambda: erase_project(project))


def delete_account(*, user_id: int) -> None:
    """Erase the account and everything that it owns, permanently. A large one is erased project by project: where this is
    interrupted, it can be repeated. Content that cannot be deleted now is collected later."""

    if not paced.is_short(ChatSession.objects.filter(project__owner_id=user_id)):
        for project in Project.objects.filter(owner_id=user_id):
            Project.objects.filter(pk=project.pk, deleted_at=None).update(deleted_at=now())
            paced.purge_sessions_of(project)

    def work() -> None:
        imports = ImportJob.objects.filter(user_id=user_id).values("id")
        for project in Project.objects.filter(Q(owner_id=user_id) | Q(owner=None, import_id__in=imports)):
            erase_project(project)
        get_user_model().objects.filter(pk=user_id).delete()

    files = [file_of(pk) for pk in ImportJob.objects.filter(user_id=user_id).values_list("pk", flat=True)]
    write(work)
    for file in files:
        file.unlink(missing_ok=True)
    delete_content(user_id)


def _put_into_trash(caller: Caller, project_id: uuid.UUID) -> None:
    project = lock_project_and_current(caller=caller, project_id=project_id)
    project.deleted_at = project.updated_at = now()
    project.save(update_fields=["deleted_at", "updated_at"])
    _tell(caller, EventType.SESSION_DELETED, project.id, None)


def _leave_current(project: Project, session_id: uuid.UUID, at: datetime) -> None:
    if project.current_session_id == session_id:
        project.current_session_id = None
    project.updated_at = at
    project.save(update_fields=["current_session", "updated_at"])


def _find_session(caller: Caller, session_id: uuid.UUID) -> _Session:
    """One of the caller's sessions, in the trash or not; in a project that is in the trash → 410, which names it."""
    row = fetch_row(_FIND, [db_uuid(session_id), caller.user_id])
    if row is None or caller.project_id not in {None, as_uuid(row[0])}:
        raise SessionNotFound
    project_id, project_deleted_at, title, deleted_at, archived_at = row
    if project_deleted_at is not None:
        raise ProjectDeleted(details={"project_id": str(as_uuid(project_id))})
    return _Session(as_uuid(project_id), title, as_time(deleted_at), archived_at is not None)


def _check_rev(session_id: uuid.UUID, if_rev: int | None) -> None:
    """Of a locked session."""
    if if_rev is None:
        return
    rev, epoch, ahead = ChatSession.objects.values_list("rev", "epoch", "epochs_ahead").get(id=session_id)
    if rev != if_rev:
        raise RevChanged(details={"rev": rev, "epoch": epoch + (ahead or 0)})


def _find_project(caller: Caller, project_id: uuid.UUID, *, locked: bool = False) -> Project:
    rows = Project.objects.visible_to(caller).filter(id=project_id)
    found = (rows.select_for_update(no_key=True) if locked else rows).first()
    if found is None:
        raise ProjectNotFound
    return found


def _check_restorable(deleted_at: datetime | None, gone: type[NotFound]) -> None:
    """Refuse to restore expired rows: pruning may have begun, and the result would be incomplete."""
    if deleted_at is not None and deleted_at < now() - RESTORABLE_FOR:
        raise gone


def _tell(caller: Caller, kind: EventType, project_id: uuid.UUID, session_id: uuid.UUID | None) -> None:
    event_log.publish(project_id=project_id, type=kind, caller=caller, session_id=session_id)
