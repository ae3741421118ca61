from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.chats.reading.frameworks.conversion import check_format
from sessions_app.chats.saving.schemas import AS, REPAIR
from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, no_content, refusals, unchanged
from sessions_app.frontends.app_state.api import CLIENT
from sessions_app.frontends.app_state.queries import DEFAULT_CLIENT
from sessions_app.frontends.resume.queries import NothingSaved, Resume, find_resume
from sessions_app.frontends.resume.schemas import ResumeOut
from sessions_app.frontends.resume.services import announce_restored
from sessions_app.models import Caller
from sessions_app.models.session import EXTERNAL_ID_LENGTH

router = Router(tags=["Resume"])
LONGEST_PATH = 512
PROJECT: str = Query(..., min_length=1, max_length=LONGEST_PATH, description="The project's path or id.")  # type: ignore[type-arg]


EXTERNAL_ID: str | None = Query(  # type: ignore[type-arg]
    None, min_length=1, max_length=EXTERNAL_ID_LENGTH, description="Your own id of a session, in place of the current one."
)
OPTIONAL: bool = Query(False, description="Return 204 if nothing is saved; for pages that may be new.")  # type: ignore[type-arg]


@router.get("/resume", response={200: ResumeOut, 204: None, 304: None, **refusals(404, 410)}, operation_id="resume")
def resume(
    request: HttpRequest,
    project: str = PROJECT,
    client: str = CLIENT,
    external_id: str | None = EXTERNAL_ID,
    quiet: bool = False,
    optional: bool = OPTIONAL,
    as_: str | None = AS,
    repair: bool = REPAIR,
) -> HttpResponse:
    """Everything a frontend needs to repaint. Sends SESSION_RESTORED to the project's other listeners, unless `quiet`."""
    check_format(as_)
    caller = caller_of(request)
    try:
        found = find_resume(caller=caller, path=project, client=client, external_id=external_id)
    except NothingSaved:
        if optional:
            return no_content()
        raise
    found = replace(found, format=as_, repair=repair)
    if (reply := unchanged(request, found.etag)) is not None:
        return reply
    return bundle_reply(caller, found, quiet=quiet)


def bundle_reply(caller: Caller, found: Resume, *, quiet: bool) -> HttpResponse:
    body = found.body()
    if not quiet:
        announce_restored(caller=caller, resume=found, has_plan=body.has_plan)
    return json_reply(body.content, etag=body.etag)


@router.api_operation(["HEAD"], "/resume", response={200: None, **refusals(404)}, operation_id="can_resume")
def can_resume(request: HttpRequest, project: str = PROJECT) -> HttpResponse:
    """Does the project have a current session?"""
    found = find_resume(caller=caller_of(request), path=project, client=DEFAULT_CLIENT)
    return json_reply(b"", etag=found.etag)
