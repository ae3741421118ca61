"""Reading runs."""

import uuid
from dataclasses import dataclass

from memory_app.core.lease import LEASE
from memory_app.core.store_queries import get_store
from memory_app.models import Run
from sessions_app.core.public_names import Caller, now
from sessions_app.projects.queries import get_project


def list_runs(*, caller: Caller, project_id: uuid.UUID, limit: int) -> list[Run]:
    get_project(caller=caller, project_id=project_id)
    return list(Run.objects.filter(project_id=project_id)[:limit])


@dataclass(frozen=True, slots=True)
class RunShown:
    """`state`: writer, reader, silent (no heartbeat for as long as a lease lasts) or ended."""

    run: Run
    state: str


def list_run_states(*, caller: Caller, project_id: uuid.UUID, limit: int) -> list[RunShown]:
    """The newest runs first."""
    found = list_runs(caller=caller, project_id=project_id, limit=limit)
    holder = get_store(project_id=project_id).holder_at(now())
    return [RunShown(run, _state(run, holder)) for run in found]


def _state(run: Run, holder: Run | None) -> str:
    if run.ended_at is not None:
        return "ended"
    if holder is not None and run.id == holder.id:
        return "writer"
    return "reader" if now() - run.last_seen_at < LEASE else "silent"
