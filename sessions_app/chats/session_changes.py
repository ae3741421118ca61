"""What a save does to its session besides messages: creates it if it does not exist, and changes its fields."""

import uuid
from dataclasses import dataclass
from typing import Any

from sessions_app.chats.locking import LockedSession, lock_project_and_current, lock_session
from sessions_app.chats.reading.sessions import SessionNotFound
from sessions_app.chats.sessions.services import NewSession, SessionExists, create_locked
from sessions_app.chats.sessions.session_fields import patched_metadata, tags_text
from sessions_app.core.errors import Conflict
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.core.storage.sql import db_uuid, fetch_row, write_later
from sessions_app.core.storage.transactions import StaleRead
from sessions_app.models import Caller, ChatSession, Project
from sessions_app.projects.queries import find_project, get_project, project_uuid
from sessions_app.projects.services import ensure_project

_READ = "SELECT title, metadata, tags FROM sessions_app_chatsession WHERE id = %s"
_WRITE = "UPDATE sessions_app_chatsession SET title = %s, metadata = %s, tags = %s WHERE id = %s"


class SessionElsewhere(Conflict):
    code = "session_elsewhere"
    message = (
        "The session with this id is in another project of yours: see details. Save to it without `create`, or take another id."
    )


@dataclass(frozen=True, slots=True)
class SessionToCreate:
    """`project`: its path or id. `current`: whether it becomes the project's current session. `new_project`: a project that there
    is not is created too."""

    project: str
    external_id: str | None = None
    title: str = ""
    current: bool = True
    new_project: bool = False


def lock_or_create(
    *, caller: Caller, session_id: uuid.UUID, new: SessionToCreate | None, in_trash: bool = False
) -> LockedSession:
    """`lock_session`, which with `new` creates the session if there is none.

    Raises NotFound (session or project), OtherProject, Gone, ExternalIdTaken, QuotaExceeded.
    """
    try:
        return lock_session(caller=caller, session_id=session_id, in_trash=in_trash)
    except SessionNotFound:
        if new is None:
            raise
    project = lock_project_and_current(caller=caller, project_id=_place(caller, new).id)
    if ChatSession.objects.visible_to(caller).filter(id=session_id).exists():
        # Created while this waited for the project. Its lock comes before the project's, so start again.
        raise StaleRead
    _create(caller, project, session_id, new)
    return lock_session(caller=caller, session_id=session_id)


def check_project(*, caller: Caller, session: LockedSession, new: SessionToCreate) -> None:
    """For a session that exists: a client must not save to another project than the one that it names."""
    if _project(caller, new.project).id != session.project_id:
        path = Project.objects.values_list("path", flat=True).get(id=session.project_id)
        raise SessionElsewhere(details={"project": path})


def change_fields(session: LockedSession, fields: dict[str, Any]) -> bool:
    """Store what differs: `title`, `metadata` (a JSON Merge Patch; None removes all) and `tags`. Others stay.

    True if something changed. The caller counts the rev. Raises MetadataTooLarge, WrongTags: call it before anything is
    written, because a request that was refused after it wrote undoes the group of saves that it is in.
    """
    title, metadata, tags = fetch_row(_READ, [db_uuid(session.id)])
    wanted = [
        fields.get("title", title),
        patched_metadata(metadata, fields["metadata"]) if "metadata" in fields else metadata,
        tags_text(fields["tags"]) if "tags" in fields else tags,
    ]
    if wanted == [title, metadata, tags]:
        return False
    write_later(_WRITE, [[*wanted, db_uuid(session.id)]])
    return True


def _place(caller: Caller, new: SessionToCreate) -> Project:
    """An id is that of a project that exists, never the path of a new one."""
    if new.new_project and uuid_or_none(new.project) is None:
        return ensure_project(caller=caller, path=new.project)[0]
    return _project(caller, new.project)


def _project(caller: Caller, named: str) -> Project:
    """Not yours and unknown are the same → 404."""
    found = find_project(caller=caller, path=named)
    return found or get_project(caller=caller, project_id=project_uuid(named))


def _create(caller: Caller, project: Project, session_id: uuid.UUID, new: SessionToCreate) -> None:
    wanted = NewSession(title=new.title, external_id=new.external_id, current=new.current)
    try:
        create_locked(caller, project, session_id, wanted)
    except SessionExists:
        if ChatSession.objects.visible_to(caller).filter(id=session_id).exists():
            raise StaleRead from None  # Created in another project meanwhile.
        raise SessionNotFound from None
