"""Soft delete of projects: added to the projects' router, because Ninja needs one router for each path."""

from django.http import HttpRequest, HttpResponse

from sessions_app.chats.lifecycle.deletion import delete_project, purge_project, undelete_project
from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, no_content, refusals
from sessions_app.projects.api import router
from sessions_app.projects.queries import project_json, project_uuid
from sessions_app.projects.schemas import ProjectOut


@router.delete("/{project_id}", response={204: None, **refusals(404, 410)}, operation_id="delete_project")
def delete(request: HttpRequest, project_id: str, purge: bool = False) -> HttpResponse:
    """Move to the trash for 30 days, with all its sessions. `?purge=1` erases it at once."""
    act = purge_project if purge else delete_project
    act(caller=caller_of(request), project_id=project_uuid(project_id))
    return no_content()


@router.post("/{project_id}/undelete", response={200: ProjectOut, **refusals(404, 409)}, operation_id="undelete_project")
def undelete(request: HttpRequest, project_id: str) -> HttpResponse:
    """Restore from the trash. 409 if another project has taken its path."""
    return json_reply(project_json(undelete_project(caller=caller_of(request), project_id=project_uuid(project_id))))
