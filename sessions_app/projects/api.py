from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.core.web.schemas import LIMIT, make_cursor, read_cursor
from sessions_app.projects import services as project_services
from sessions_app.projects.queries import get_project, list_projects, project_json, project_uuid
from sessions_app.projects.schemas import ProjectIn, ProjectList, ProjectOut, ProjectPatch

router = Router(tags=["Projects"])


@router.get("", response={200: ProjectList, **refusals()}, operation_id="list_projects")
def browse(
    request: HttpRequest, q: str = "", path: str = "", deleted: bool = False, cursor: str | None = None, limit: int = LIMIT
) -> HttpResponse:
    """The caller's projects, most recently changed first. `path`: only the one at this path; `deleted`: those in the trash."""
    found = list_projects(caller=caller_of(request), text=q, path=path, deleted=deleted, after=read_cursor(cursor), limit=limit)
    following = make_cursor(found[limit - 1].updated_at, found[limit - 1].id) if len(found) > limit else None
    return json_reply({"items": [project_json(project) for project in found[:limit]], "next": following})


@router.post("", response={200: ProjectOut, 201: ProjectOut, **refusals()}, operation_id="create_project")
def create(request: HttpRequest, payload: ProjectIn) -> HttpResponse:
    """Create a project; if the path exists, returns 200 with it."""
    project, made = project_services.create_project(caller=caller_of(request), path=payload.path, name=payload.name)
    return json_reply(project_json(project), status=201 if made else 200)


@router.get("/{project_id}", response={200: ProjectOut, **refusals(404, 410)}, operation_id="get_project")
def read(request: HttpRequest, project_id: str) -> HttpResponse:
    """One project."""
    return json_reply(project_json(get_project(caller=caller_of(request), project_id=project_uuid(project_id))))


@router.patch("/{project_id}", response={200: ProjectOut, **refusals(404, 410)}, operation_id="update_project")
def update(request: HttpRequest, project_id: str, payload: ProjectPatch) -> HttpResponse:
    """Rename it, or change its settings; omitted fields stay."""
    fields: dict[str, Any] = payload.model_dump(exclude_none=True)
    project = project_services.update_project(caller=caller_of(request), project_id=project_uuid(project_id), fields=fields)
    return json_reply(project_json(project))
