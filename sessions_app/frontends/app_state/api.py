"""Reads and saves which project and phase a frontend shows."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.frontends.app_state.queries import DEFAULT_CLIENT, get_app_state
from sessions_app.frontends.app_state.schemas import AppStateIn, AppStateOut
from sessions_app.frontends.app_state.services import save_app_state

router = Router(tags=["Resume"])
CLIENT: str = Query(DEFAULT_CLIENT, min_length=1, max_length=64, description="The frontend's name.")  # type: ignore[type-arg]


@router.get("/app-state", response={200: AppStateOut, **refusals()}, operation_id="get_app_state")
def read_app_state(request: HttpRequest, client: str = CLIENT) -> HttpResponse:
    """The caller's UI state in this frontend. A key for one project sees only that project."""
    return json_reply(get_app_state(caller=caller_of(request), client=client).as_json())


@router.put("/app-state", response={200: AppStateOut, **refusals()}, operation_id="save_app_state")
def put_app_state(request: HttpRequest, payload: AppStateIn, client: str = CLIENT) -> HttpResponse:
    """Select a project, move to another phase, or both. Another project without a phase starts in `plan`. Other fields stay.

    A key for one project may select only that project.
    """
    fields = payload.model_dump(exclude_unset=True)
    return json_reply(save_app_state(caller=caller_of(request), client=client, fields=fields).as_json())
