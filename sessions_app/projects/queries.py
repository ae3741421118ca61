"""Reading projects."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sessions_app.core.errors import Gone, NotFound
from sessions_app.core.id_parsing import parse_id, uuid_or_none
from sessions_app.core.storage.sql import as_time, as_uuid, db_uuid, fetch_row, rfc3339
from sessions_app.core.storage.text_comparison import contains
from sessions_app.models import Caller, Project

_OWN = "sessions_app_project WHERE id = %s AND owner_id = %s"
_SUMMARY = ", path, name, created_at, last_session_at, session_count, event_seq, current_session_id"
_HEAD = "SELECT id, current_session_id, path FROM sessions_app_project WHERE owner_id = %s AND deleted_at IS NULL AND "
_BY_PATH, _BY_ID = f"{_HEAD}path = %s", f"{_HEAD}id = %s"


class ProjectNotFound(NotFound):
    kind = "project"
    message = "You have no project with this id. List your projects, or look one up by its path; a key may be limited to one."


class ProjectDeleted(Gone):
    code, message = "project_deleted", "This project is in the trash. Restore it to use it."


def project_uuid(text: str) -> uuid.UUID:
    """Parse a project's id from a URL."""
    return parse_id(text, ProjectNotFound)


def get_project(*, caller: Caller, project_id: uuid.UUID, locked: bool = False) -> Project:
    """One of the caller's projects; in the trash → 410. `locked`: nobody else changes it until the commit."""
    rows = Project.objects.visible_to(caller).filter(id=project_id)
    project = (rows.select_for_update(no_key=True) if locked else rows).first()
    if project is None:
        raise ProjectNotFound
    if project.deleted_at is not None:
        raise ProjectDeleted
    return project


class ProjectSummary(NamedTuple):
    """What a request that costs little says of a project. `event_seq`: the number of its newest event."""

    id: uuid.UUID
    path: str
    name: str
    created_at: datetime
    last_session_at: datetime | None
    session_count: int
    event_seq: int
    current_session_id: uuid.UUID | None


def get_summary(*, caller: Caller, project_id: uuid.UUID) -> ProjectSummary:
    """As `get_project`, by plain SQL, which takes a tenth of the time."""
    path, name, created_at, last_session_at, session_count, event_seq, current = _columns_of(caller, project_id, _SUMMARY)
    times = as_time(created_at), as_time(last_session_at)
    return ProjectSummary(project_id, path, name, *times, session_count, event_seq, as_uuid(current))


def check_project(*, caller: Caller, project_id: uuid.UUID) -> None:
    """Raises what `get_project` raises, by plain SQL: for requests that need nothing else of the project and cost little."""
    _columns_of(caller, project_id)


def _columns_of(caller: Caller, project_id: uuid.UUID, names: str = "") -> Sequence[Any]:
    """Of a project that the caller sees, and that is not in the trash."""
    found = fetch_row(f"SELECT deleted_at IS NULL{names} FROM {_OWN}", [db_uuid(project_id), caller.user_id])  # noqa: S608
    if found is None or caller.project_id not in {None, project_id}:
        raise ProjectNotFound
    if not found[0]:
        raise ProjectDeleted
    return tuple(found[1:])


def get_trashed(*, caller: Caller, project_id: uuid.UUID) -> Project:
    """One of the caller's projects that is in the trash."""
    project = Project.objects.visible_to(caller).filter(id=project_id, deleted_at__isnull=False).first()
    if project is None:
        raise ProjectNotFound
    return project


def find_project(*, caller: Caller, path: str) -> Project | None:
    return Project.objects.visible_to(caller).alive().filter(path=path).first()


@dataclass(frozen=True, slots=True)
class ProjectHead:
    id: uuid.UUID
    current_session_id: uuid.UUID | None
    path: str


def find_project_head(*, caller: Caller, name: str) -> ProjectHead | None:
    """As `find_project`, by path or else by id, with plain SQL: for requests whose own work costs little more."""
    project_id = uuid_or_none(name)
    found = fetch_row(_BY_PATH, [caller.user_id, name]) if project_id is None else None
    if project_id is not None:
        # A path may look like an id, but it is not that of another project.
        found = fetch_row(_BY_ID, [caller.user_id, db_uuid(project_id)]) or fetch_row(_BY_PATH, [caller.user_id, name])
    if found is None:
        return None
    head = ProjectHead(as_uuid(found[0]), as_uuid(found[1]), found[2])
    return head if caller.project_id in {None, head.id} else None


def find_project_ids(named: Collection[tuple[int, str]]) -> dict[tuple[int, str], uuid.UUID]:
    """Projects by owner, and path or id, for work in the background. Those that do not exist are left out."""
    ids = {name: known for _, name in named if (known := uuid_or_none(name)) is not None}
    rows = Project.objects.alive().filter(owner_id__in={owner for owner, _ in named})
    rows = rows.filter(path__in={path for _, path in named}) | rows.filter(id__in=set(ids.values()))
    found: dict[tuple[int, str], uuid.UUID] = {}
    for project_id, owner, path in rows.values_list("id", "owner_id", "path"):
        found |= {(owner, name): project_id for name, known in ids.items() if known == project_id}
        found[owner, path] = project_id
    return {name: project_id for name, project_id in found.items() if name in named}


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
        rows = rows.filter(contains(text, "path", "name"))
    if path:
        rows = rows.filter(path=path)
    if after is not None:
        rows = rows.filter(updated_at__lte=after[0]).exclude(updated_at=after[0], id__lte=after[1])
    return list(rows.order_by("-updated_at", "id")[: limit + 1])


def count_trashed(*, caller: Caller) -> int:
    return Project.objects.visible_to(caller).filter(deleted_at__isnull=False).count()


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
