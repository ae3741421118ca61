"""Which project and which session a call means."""

import uuid
from contextlib import suppress
from dataclasses import dataclass

from mcp_app.core.calls import Call
from sessions_app.chats.reading.sessions import SessionNotFound, SessionRow, get_session
from sessions_app.chats.sessions.services import NewSession, ensure_by_external_id, ensure_current, get_by_external_id
from sessions_app.core.errors import Invalid, NotFound
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.projects.queries import ProjectNotFound, find_project_head, get_project
from sessions_app.projects.services import create_project

# In place of a project, where a tool takes it.
ALL_PROJECTS = "*"


class NoProject(Invalid):
    code = "no_project"
    message = (
        "Say which project: pass `project`, its path (such as /home/ana/shop). A connection to /mcp?project=PATH needs none."
    )


class UnknownProject(ProjectNotFound):
    message = "You have no such project. Check `project`: it is a path, as it was first used. Tools that save make a new one."


class NoSession(NotFound):
    code, kind = "no_session", "session"
    message = "This project has no current session yet. `session_save` and `ai_state_save` start one."


class UnknownSession(SessionNotFound):
    message = "You have no such session in this project. `session_search` finds sessions; `session_resume` has the current one."


@dataclass(frozen=True, slots=True)
class Place:
    """A project: its path, and its id if it exists."""

    path: str
    project_id: uuid.UUID | None
    current_session_id: uuid.UUID | None = None


def find_place(call: Call, named: str | None) -> Place:
    """The named project, else the connection's, else the key's. Raises NoProject; UnknownProject for an id of no project."""
    name = named or call.project
    if not name:
        if call.caller.project_id is None:
            raise NoProject
        own = get_project(caller=call.caller, project_id=call.caller.project_id)
        return Place(own.path, own.id, own.current_session_id)
    head = find_project_head(caller=call.caller, name=name)
    if head is None and name.startswith("/") and name.endswith("/"):  # Of one folder nobody means two projects.
        name = name.rstrip("/") or "/"
        head = find_project_head(caller=call.caller, name=name)
    if head is not None:
        return Place(head.path, head.id, head.current_session_id)
    project_id = uuid_or_none(name)
    if project_id is None:
        return Place(name, None)
    try:
        found = get_project(caller=call.caller, project_id=project_id)
    except ProjectNotFound:
        raise UnknownProject from None  # Nobody means a path by this.
    return Place(found.path, found.id, found.current_session_id)


def known_project(call: Call, named: str | None) -> uuid.UUID:
    """For reading. Raises UnknownProject if there is none: another user's and none at all look the same."""
    place = find_place(call, named)
    if place.project_id is None:
        raise UnknownProject
    return place.project_id


def project_to_write(call: Call, named: str | None) -> uuid.UUID:
    """For writing: the project is made if there is none."""
    place = find_place(call, named)
    return place.project_id or create_project(caller=call.caller, path=place.path)[0].id


def known_session(call: Call, session_id: str | None, project: str | None) -> SessionRow:
    """For reading. Raises NoSession, UnknownSession, SessionDeleted."""
    if session_id is None:
        place = find_place(call, project)
        if place.project_id is None:
            raise UnknownProject
        if place.current_session_id is None:
            raise NoSession
        return get_session(caller=call.caller, session_id=place.current_session_id)
    found = _by_uuid(call, session_id)
    return found or _by_external_id(call, session_id, project)


def session_to_write(call: Call, session_id: str | None, project: str | None) -> SessionRow:
    """For writing: project and session are made where there is none. A UUID has to be of a session that exists."""
    if session_id is None:
        project_id = project_to_write(call, project)
        return ensure_current(caller=call.caller, project_id=project_id)
    if uuid_or_none(session_id) is not None:
        return known_session(call, session_id, project)
    project_id = project_to_write(call, project)
    return ensure_by_external_id(caller=call.caller, project_id=project_id, new=NewSession(external_id=session_id))[0]


def _by_uuid(call: Call, session_id: str) -> SessionRow | None:
    wanted = uuid_or_none(session_id)
    if wanted is not None:
        with suppress(SessionNotFound):
            return get_session(caller=call.caller, session_id=wanted)
    return None


def _by_external_id(call: Call, external_id: str, project: str | None) -> SessionRow:
    """An external id is unique in its project, so it needs one; a UUID does not."""
    try:
        place = find_place(call, project)
    except NoProject:
        if uuid_or_none(external_id) is None:
            raise
        raise UnknownSession from None
    if place.project_id is None:
        raise UnknownSession
    try:
        return get_by_external_id(caller=call.caller, project_id=place.project_id, external_id=external_id)
    except SessionNotFound:
        raise UnknownSession from None
