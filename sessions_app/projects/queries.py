"""Reading projects."""

import uuid
from datetime import datetime
from typing import Any

from sessions_app.core.errors import Gone, NotFound
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.storage.sql import rfc3339
from sessions_app.models import Caller, Project


class ProjectNotFound(NotFound):
    kind = "project"
    message = "You have no project with this id. List your projects, or look one up by its path; a key may be limited to one."


class ProjectDeleted(Gone):
    code, message = "project_deleted", "This project is in the trash. Restore it to use it."


def project_uuid(text: str) -> uuid.UUID:
    """Parse a project's id from a URL."""
    return parse_id(text, ProjectNotFound)


def get_project(*, caller: Caller, project_id: uuid.UUID) -> Project:
    """One of the caller's projects; in the trash → 410."""
    project = Project.objects.visible_to(caller).filter(id=project_id).first()
    if project is None:
        raise ProjectNotFound
    if project.deleted_at is not None:
        raise ProjectDeleted
    return project


def get_trashed(*, caller: Caller, project_id: uuid.UUID) -> Project:
    """One of the caller's projects that is in the trash."""
    project = Project.objects.visible_to(caller).filter(id=project_id, deleted_at__isnull=False).first()
    if project is None:
        raise ProjectNotFound
    return project


def find_project(*, caller: Caller, path: str) -> Project | None:
    return Project.objects.visible_to(caller).alive().filter(path=path).first()


def get_project_by_name(*, caller: Caller, name: str) -> Project:
    """The caller's project with this path or, if there is none, with this id."""
    return find_project(caller=caller, path=name) or get_project(caller=caller, project_id=project_uuid(name))


def list_projects(
    *,
    caller: Caller,
    text: str = "",
    path: str = "",
    deleted: bool = False,
    after: tuple[datetime, uuid.UUID] | None = None,
    limit: int = 50,
) -> list[Project]:
    """The caller's projects (`deleted`: those in the trash), most recently changed first; one more than `limit` if there
    are more."""
    rows = Project.objects.visible_to(caller).filter(deleted_at__isnull=not deleted)
    if text:
        rows = rows.filter(path__icontains=text) | rows.filter(name__icontains=text)
    if path:
        rows = rows.filter(path=path)
    if after is not None:
        rows = rows.filter(updated_at__lte=after[0]).exclude(updated_at=after[0], id__lte=after[1])
    return list(rows.order_by("-updated_at", "id")[: limit + 1])


def project_json(project: Project) -> dict[str, Any]:
    """A project in the API's format. `session_count` is max(1, runs started)."""
    last = project.last_session_at
    current = project.current_session_id
    return {
        "id": str(project.id),
        "path": project.path,
        "name": project.name,
        "created_at": rfc3339(project.created_at),
        "updated_at": rfc3339(project.updated_at),
        "current_session": None if current is None else str(current),
        "session_count": max(1, project.session_count),
        "last_session_at": None if last is None else rfc3339(last),
        "settings": project.settings,
    }
