from django.http import HttpRequest, HttpResponse
from ninja import Router

from memory_app.core.lease import RunNotFound
from memory_app.runs import services as run_services
from memory_app.runs.schemas import RunEnd, RunEnded, RunIn, RunOut
from sessions_app.chats.saving.request_identity import identity_of
from sessions_app.core.callers import caller_of
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.projects.queries import project_uuid

router = Router(tags=["Runs"])
RUN = "/{project_id}/runs/{run_id}"
# Defaults for a request without a body.
UNNAMED, NOTHING_HELD = RunIn(), RunEnd()


@router.post("/{project_id}/runs", response={201: RunOut, **refusals(404, 410)}, operation_id="start_run")
def start(request: HttpRequest, project_id: str, payload: RunIn = UNNAMED) -> HttpResponse:
    """Start a run: it is counted, and it becomes the writer of the project's memory if there is none."""
    state = run_services.start_run(caller=caller_of(request), project_id=project_uuid(project_id), agent=payload.agent)
    return json_reply(state.as_json(), status=201)


@router.post(RUN + "/heartbeat", response={200: RunOut, **refusals(404, 410)}, operation_id="heartbeat_run")
def heartbeat(request: HttpRequest, project_id: str, run_id: str) -> HttpResponse:
    """The run lives; the writer keeps the lease for another 30 seconds. `mode` says whether it is still the writer."""
    state = run_services.heartbeat(
        caller=caller_of(request), project_id=project_uuid(project_id), run_id=parse_id(run_id, RunNotFound)
    )
    return json_reply(state.as_json())


@router.post(RUN + "/takeover", response={200: RunOut, **refusals(404, 410)}, operation_id="take_over_run")
def take_over(request: HttpRequest, project_id: str, run_id: str) -> HttpResponse:
    """Become the writer in any case: the fence rises, and the former holder's writes are refused."""
    state = run_services.take_over(
        caller=caller_of(request), project_id=project_uuid(project_id), run_id=parse_id(run_id, RunNotFound)
    )
    return json_reply(state.as_json())


@router.post(RUN + "/end", response={200: RunEnded, **refusals(404, 409, 410, 413, 423)}, operation_id="end_run")
def end(request: HttpRequest, project_id: str, run_id: str, payload: RunEnd = NOTHING_HELD) -> HttpResponse:
    """Write the agent's unsaved data and free the lease, all or nothing. A retry is answered as done; other data of a run that
    has ended is refused: 410 `run_ended`."""
    held = run_services.Held(
        entries=payload.new_entries(request.body, getattr(request, "normalized", [])),
        errors=[error.as_new() for error in payload.errors],
        ai_states=[state.as_held() for state in payload.ai_states],
        sha256=identity_of(request, payload),
    )
    ended = run_services.end_run(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        run_id=parse_id(run_id, RunNotFound),
        held=held,
    )
    return json_reply(ended.as_json())
