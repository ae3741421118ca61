"""The projects that a form offers to move sessions to."""

import uuid

from sessions_app.core.errors import Conflict
from sessions_app.models import Caller, Project
from sessions_app.projects.queries import ProjectDeleted, get_project, list_projects, project_uuid

PROJECTS = 200


class PlaceGone(Conflict):
    code, message = "project_gone", "This project was deleted meanwhile. Choose another one, or restore it first."


def move_targets(caller: Caller, *, without: uuid.UUID | None) -> list[Project]:
    """The caller's projects, most recently changed first, without the one where the sessions are."""
    return [row for row in list_projects(caller=caller, limit=PROJECTS)[:PROJECTS] if row.id != without]


def chosen_place(caller: Caller, chosen: str) -> Project:
    """The one that a form names. What it offered may be in the trash by now."""
    try:
        return get_project(caller=caller, project_id=project_uuid(chosen))
    except ProjectDeleted:
        raise PlaceGone from None
