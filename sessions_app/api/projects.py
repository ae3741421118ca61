from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.api.caller import caller_of
from sessions_app.api.replies import json_reply, refusals
from sessions_app.queries.projects import get_project, list_projects, project_json, project_uuid
from sessions_app.schemas.common import LIMIT, make_cursor, read_cursor
from sessions_app.schemas.projects import ProjectIn, ProjectList, ProjectOut, ProjectPatch
from sessions_app.services import projects
from sessions_app.services.deletion import delete_project, purge_project, undelete_project

router = Router(tags=["Projects"])


@router.get("", response={200: ProjectList, **refusals()}, operation_id="list_projects")
def browse(
    request: HttpRequest, q: str = "", path: str = "", deleted: bool = False, cursor: str | None = None, limit: int = LIMIT
) -> HttpResponse:
    """The caller's projects, the one changed last first. `path`: only this very one; `deleted`: those in the trash."""
    found = list_projects(caller=caller_of(request), text=q, path=path, deleted=deleted, after=read_cursor(cursor), limit=limit)
    following = make_cursor(found[limit - 1].updated_at, found[limit - 1].id) if len(found) > limit else None
    return json_reply({"items": [project_json(project) for project in found[:limit]], "next": following})


@router.post("", response={200: ProjectOut, 201: ProjectOut, **refusals()}, operation_id="create_project")
def create(request: HttpRequest, payload: ProjectIn) -> HttpResponse:
    """Make a project; where the path exists, answer 200 with it."""
    project, made = projects.create_project(caller=caller_of(request), path=payload.path, name=payload.name)
    return json_reply(project_json(project), status=201 if made else 200)


@router.get("/{project_id}", response={200: ProjectOut, **refusals(404, 410)}, operation_id="get_project")
def read(request: HttpRequest, project_id: str) -> HttpResponse:
    """One project."""
    return json_reply(project_json(get_project(caller=caller_of(request), project_id=project_uuid(project_id))))


@router.patch("/{project_id}", response={200: ProjectOut, **refusals(404, 410)}, operation_id="update_project")
def update(request: HttpRequest, project_id: str, payload: ProjectPatch) -> HttpResponse:
    """Rename it, or change its settings; what is left out stays."""
    fields: dict[str, Any] = payload.model_dump(exclude_none=True)
    project = projects.update_project(caller=caller_of(request), project_id=project_uuid(project_id), fields=fields)
    return json_reply(project_json(project))


@router.delete("/{project_id}", response={204: None, **refusals(404, 410)}, operation_id="delete_project")
def delete(request: HttpRequest, project_id: str, purge: bool = False) -> HttpResponse:
    """To the trash for 30 days, with all its sessions. `?purge=1` erases it at once."""
    act = purge_project if purge else delete_project
    act(caller=caller_of(request), project_id=project_uuid(project_id))
    return HttpResponse(status=204)


@router.post("/{project_id}/undelete", response={200: ProjectOut, **refusals(404, 409)}, operation_id="undelete_project")
def undelete(request: HttpRequest, project_id: str) -> HttpResponse:
    """Back from the trash. 409 where another project has taken its path."""
    return json_reply(project_json(undelete_project(caller=caller_of(request), project_id=project_uuid(project_id))))
