"""The projects that a form offers to move sessions to."""

import uuid

from sessions_app.models import Caller, Project
from sessions_app.projects.queries import list_projects

PROJECTS = 200


def move_targets(caller: Caller, *, without: uuid.UUID | None) -> list[Project]:
    """The caller's projects, most recently changed first, without the one where the sessions are."""
    return [row for row in list_projects(caller=caller, limit=PROJECTS)[:PROJECTS] if row.id != without]
