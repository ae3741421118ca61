from django.http import HttpRequest, HttpResponse
from ninja import Router

from memory_app.checkpoints.names import from_address
from memory_app.checkpoints.schemas import CopiedOut, CopyIn, DeletedCount, PruneIn, RunsIn, ThreadList
from memory_app.checkpoints.threads import copying, queries, services
from memory_app.models.graph_thread import THREAD_BYTES
from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.core.web.schemas import LIMIT
from sessions_app.projects.queries import project_uuid

router = Router(tags=["Checkpoints"])
THREAD = "/{project_id}/threads/{thread}"
NO_BODY = PruneIn()


@router.get("/{project_id}/threads", response={200: ThreadList, **refusals(404, 410)}, operation_id="list_threads")
def browse(request: HttpRequest, project_id: str, cursor: str = "", limit: int = LIMIT) -> HttpResponse:
    """The project's threads of checkpoints, by name."""
    found = queries.list_threads(caller=caller_of(request), project_id=project_uuid(project_id), after=cursor, limit=limit)
    following = found[limit - 1].name if len(found) > limit else None
    return json_reply({"items": [queries.thread_json(row) for row in found[:limit]], "next": following})


@router.delete(THREAD, response={200: DeletedCount, **refusals(404, 410)}, operation_id="delete_thread")
def delete(request: HttpRequest, project_id: str, thread: str) -> HttpResponse:
    """Erase a thread with all that it has, for good. A thread that does not exist has 0 checkpoints."""
    count = services.delete_thread(caller=caller_of(request), project_id=project_uuid(project_id), name=_name(thread))
    return json_reply({"deleted": count})


@router.post(THREAD + "/copy", response={201: CopiedOut, **refusals(404, 409, 410)}, operation_id="copy_thread")
def copy(request: HttpRequest, project_id: str, thread: str, payload: CopyIn) -> HttpResponse:
    """Copy a thread with all of its checkpoints, values and writes."""
    count = copying.copy_thread(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        name=_name(thread),
        to=payload.target(),
    )
    return json_reply({"copied": count}, status=201)


@router.post(THREAD + "/prune", response={200: DeletedCount, **refusals(404, 410)}, operation_id="prune_thread")
def prune(request: HttpRequest, project_id: str, thread: str, payload: PruneIn = NO_BODY) -> HttpResponse:
    """Erase old checkpoints of a thread, with the values that nothing refers to any more."""
    remove = services.prune_thread if payload.strategy == "keep_latest" else services.delete_thread
    count = remove(caller=caller_of(request), project_id=project_uuid(project_id), name=_name(thread))
    return json_reply({"deleted": count})


@router.post(
    "/{project_id}/checkpoints/delete-runs",
    response={200: DeletedCount, **refusals(404, 410)},
    operation_id="delete_checkpoints_of_runs",
)
def delete_runs(request: HttpRequest, project_id: str, payload: RunsIn) -> HttpResponse:
    """Erase the checkpoints of all threads whose metadata have one of these `run_id`. What later checkpoints of other runs are
    rebuilt from (delta channels) is erased too."""
    count = services.delete_runs(caller=caller_of(request), project_id=project_uuid(project_id), run_ids=payload.run_ids)
    return json_reply({"deleted": count})


def _name(thread: str) -> str:
    return from_address(thread, "thread", THREAD_BYTES)
