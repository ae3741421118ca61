from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.api.caller import caller_of
from sessions_app.api.replies import json_reply, refusals, unchanged
from sessions_app.queries.app_state import DEFAULT_CLIENT, get_app_state
from sessions_app.queries.resume import NothingSaved, find_resume
from sessions_app.schemas.sessions import AppStateIn, AppStateOut, ResumeOut
from sessions_app.services.app_state import save_app_state
from sessions_app.services.resume import announce_restored

router = Router(tags=["Resume"])
CLIENT: str = Query(DEFAULT_CLIENT, min_length=1, max_length=64, description="The frontend's name.")  # type: ignore[type-arg]
PROJECT: str = Query(..., min_length=1, max_length=512, description="The project's path.")  # type: ignore[type-arg]


OPTIONAL: bool = Query(False, description="Answer 204 where nothing is saved, as a page asks that may be new.")  # type: ignore[type-arg]


@router.get("/resume", response={200: ResumeOut, 204: None, 304: None, **refusals(404)}, operation_id="resume")
def resume(
    request: HttpRequest, project: str = PROJECT, client: str = CLIENT, quiet: bool = False, optional: bool = OPTIONAL
) -> HttpResponse:
    """What a frontend needs to repaint itself. Tells the project's other listeners by SESSION_RESTORED, unless `quiet`."""
    caller = caller_of(request)
    try:
        found = find_resume(caller=caller, path=project, client=client)
    except NothingSaved:
        if optional:
            return HttpResponse(status=204)
        raise
    if (reply := unchanged(request, found.etag)) is not None:
        return reply
    body = found.body()
    if not quiet:
        announce_restored(caller=caller, resume=found, has_plan=body.has_plan)
    return json_reply(body.content, etag=body.etag)


@router.api_operation(["HEAD"], "/resume", response={200: None, **refusals(404)}, operation_id="can_resume")
def can_resume(request: HttpRequest, project: str = PROJECT) -> HttpResponse:
    """Is there something to resume?"""
    found = find_resume(caller=caller_of(request), path=project, client=DEFAULT_CLIENT)
    return json_reply(b"", etag=found.etag)


@router.get("/app-state", response={200: AppStateOut, **refusals()}, operation_id="get_app_state")
def read_app_state(request: HttpRequest, client: str = CLIENT) -> HttpResponse:
    """Where the caller is in this frontend."""
    return json_reply(get_app_state(caller=caller_of(request), client=client).as_json())


@router.put("/app-state", response={200: AppStateOut, **refusals()}, operation_id="save_app_state")
def put_app_state(request: HttpRequest, payload: AppStateIn, client: str = CLIENT) -> HttpResponse:
    """Select a project (another one starts in the phase `plan`), or move to another phase. What is left out stays."""
    fields = payload.model_dump(exclude_unset=True)
    return json_reply(save_app_state(caller=caller_of(request), client=client, fields=fields).as_json())
