"""Threads of assistant-ui: sessions of one project."""

import uuid
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sessions_app.chats.lifecycle.deletion import delete_session
from sessions_app.chats.reading.session_filters import Place, SessionFilter
from sessions_app.chats.reading.session_lists import list_sessions
from sessions_app.chats.reading.sessions import SessionDeleted, SessionRow, get_session, session_uuid
from sessions_app.chats.sessions import services as session_services
from sessions_app.chats.sessions.session_fields import metadata_text
from sessions_app.core.errors import Invalid
from sessions_app.models import Caller
from sessions_app.models.session import SessionState
from sessions_app.projects.queries import ProjectNotFound, find_project_head
from sessions_app.projects.services import create_project

MOST_THREADS = 500


class ProjectNeeded(Invalid):
    code = "project_needed"
    message = "Say which project: `workspaceId` is its path or its id. Or use a key for one project."


def limited(caller: Caller, project: str) -> Caller:
    """The caller, limited to the project with this path or id, which exists. '' = the project of a limited key."""
    if not project and caller.project_id is None:
        raise ProjectNeeded
    if not project:
        return caller
    head = find_project_head(caller=caller, name=project)
    if head is None:
        raise ProjectNotFound
    return replace(caller, project_id=head.id)


def limited_or_new(caller: Caller, project: str) -> Caller:
    """The same; the project is created if there is none."""
    try:
        return limited(caller, project)
    except ProjectNotFound:
        made, _ = create_project(caller=caller, path=project)
        return replace(caller, project_id=made.id)


def list_threads(*, caller: Caller, archived: bool | None, after: str | None, limit: int) -> list[SessionRow]:
    """Those of the caller's project, most recently changed first. `after`: the last one of the former page. If it was deleted
    meanwhile it has no place any more, and the list begins again."""
    wanted = SessionFilter(state=SessionState.ARCHIVED if archived else None, unarchived=archived is False)
    place = None
    if after is not None:
        with suppress(SessionDeleted):
            last = find_thread(caller=caller, thread=after)
            place = Place(last.updated_at, last.id)
    found: list[SessionRow] = []
    while True:
        page = list_sessions(
            caller=caller, project_id=caller.project_id, wanted=wanted, sort="-updated", after=place, limit=limit - len(found)
        )
        found += page.rows
        place = page.next
        if place is None or len(found) >= limit:
            return found


def find_thread(*, caller: Caller, thread: str) -> SessionRow:
    return get_session(caller=caller, session_id=session_uuid(thread))


def create_thread(
    *, caller: Caller, title: str, metadata: dict[str, Any] | None, external_id: str | None, upsert: bool
) -> SessionRow:
    """It does not become the project's current session: a list of threads has none."""
    new = session_services.NewSession(title=title, metadata=metadata_text(metadata or {}), external_id=external_id, current=False)
    project_id = project_of(caller)
    if upsert and external_id is not None:
        return session_services.ensure_by_external_id(caller=caller, project_id=project_id, new=new)[0]
    return session_services.create_session(caller=caller, project_id=project_id, new=new)


def update_thread(*, caller: Caller, thread: str, fields: dict[str, Any]) -> SessionRow:
    """`title`, `is_archived`, `metadata` as a whole; what is left out stays."""
    changed: dict[str, Any] = {"title": fields["title"]} if "title" in fields else {}
    if "is_archived" in fields:
        changed["archived"] = fields["is_archived"]
    if "metadata" in fields:
        changed["metadata"] = lambda row: metadata_text(fields["metadata"])
    own_id = session_uuid(thread)
    if not changed:
        return get_session(caller=caller, session_id=own_id)
    return session_services.update_session(caller=caller, session_id=own_id, fields=changed)


def delete_thread(*, caller: Caller, thread: str) -> None:
    """To the trash. One that is there already, as another tab may have put it, stays there."""
    with suppress(SessionDeleted):
        delete_session(caller=caller, session_id=find_thread(caller=caller, thread=thread).id)


def project_of(caller: Caller) -> uuid.UUID:
    if caller.project_id is None:
        raise ProjectNeeded
    return caller.project_id
