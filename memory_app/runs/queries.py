"""Reading runs."""

import uuid

from memory_app.models import Run
from sessions_app.core.public_names import Caller
from sessions_app.projects.queries import get_project


def list_runs(*, caller: Caller, project_id: uuid.UUID, limit: int) -> list[Run]:
    get_project(caller=caller, project_id=project_id)
    return list(Run.objects.filter(project_id=project_id)[:limit])
