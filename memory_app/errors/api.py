from django.http import HttpRequest, HttpResponse
from ninja import Router

from memory_app.core.run_header import run_of
from memory_app.errors import queries, state_changes
from memory_app.errors import services as error_services
from memory_app.errors.schemas import (
    ErrorChangesIn,
    ErrorDetail,
    ErrorList,
    ErrorMuteIn,
    ErrorResolved,
    ErrorResolveIn,
    ErrorsChanged,
    ErrorsIn,
    ErrorsRecorded,
)
from memory_app.errors.state_changes import Act, Change
from memory_app.models import ErrorReport
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import Invalid
from sessions_app.core.redaction import Redacted
from sessions_app.core.web.responses import RUN, json_reply, refusals, takes
from sessions_app.core.web.schemas import LIMIT, make_cursor, read_cursor
from sessions_app.projects.queries import project_uuid

router = Router(tags=["Errors"])
ERROR = "/{project_id}/errors/{fingerprint}"
# Defaults for a request without a body.
NO_BODY = ErrorResolveIn()


@router.post(
    "/{project_id}/errors",
    response={200: ErrorsRecorded, **refusals(404, 410, 423)},
    operation_id="record_errors",
    openapi_extra=takes(RUN),
)
def record(request: HttpRequest, project_id: str, payload: ErrorsIn) -> HttpResponse:
    """Record errors. A repeated error is counted, and reopened if it was resolved before this occurrence.

    Errors matching a noise rule are only counted. A rule looks at `message` and at `kind: message`.
    """
    recorded = error_services.record_errors(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        errors=[error.as_new() for error in payload.errors],
        run_id=run_of(request),
    )
    return json_reply(recorded.as_json())


@router.get("/{project_id}/errors", response={200: ErrorList, **refusals(404, 410)}, operation_id="list_errors")
def browse(request: HttpRequest, project_id: str, state: str = "", cursor: str = "", limit: int = LIMIT) -> HttpResponse:
    """Last seen first. `?state=`: `unresolved`, `resolved` or `muted`; left out: all but the muted ones."""
    if state not in queries.STATES:
        raise Invalid("`state` is unresolved, resolved or muted, or left out.", details={"field": "state"})
    own_id = project_uuid(project_id)
    found = queries.list_errors(caller=caller_of(request), project_id=own_id, state=state, after=read_cursor(cursor), limit=limit)
    following = make_cursor(found[limit - 1].last_seen, found[limit - 1].id) if len(found) > limit else None
    return json_reply({"items": queries.errors_json(own_id, found[:limit]), "next": following})


@router.get(ERROR, response={200: ErrorDetail, **refusals(404, 410)}, operation_id="get_error")
def read(request: HttpRequest, project_id: str, fingerprint: str) -> HttpResponse:
    """One error with its latest stack, and how often it was seen on which day in which run."""
    error = queries.get_error(caller=caller_of(request), project_id=project_uuid(project_id), fingerprint=fingerprint)
    return json_reply(queries.error_detail(error))


@router.post(
    ERROR + "/resolve",
    response={200: ErrorResolved, **refusals(404, 410, 423)},
    operation_id="resolve_error",
    openapi_extra=takes(RUN),
)
def resolve(request: HttpRequest, project_id: str, fingerprint: str, payload: ErrorResolveIn = NO_BODY) -> HttpResponse:
    """Mark as resolved until it is seen again; `known_fix` describes the fix for later."""
    change = Change(Act.RESOLVE, payload.known_fix)
    error, redacted = _changed(request, project_id, fingerprint, change)
    return json_reply(queries.error_detail(error) | {"redacted": redacted})


@router.post(
    ERROR + "/reopen",
    response={200: ErrorDetail, **refusals(404, 410, 423)},
    operation_id="reopen_error",
    openapi_extra=takes(RUN),
)
def reopen(request: HttpRequest, project_id: str, fingerprint: str) -> HttpResponse:
    """Undo a resolve that was a mistake; a mute from before it goes on."""
    error, _ = _changed(request, project_id, fingerprint, Change(Act.REOPEN))
    return json_reply(queries.error_detail(error))


@router.post(
    ERROR + "/mute",
    response={200: ErrorDetail, **refusals(404, 410, 423)},
    operation_id="mute_error",
    openapi_extra=takes(RUN),
)
def mute(request: HttpRequest, project_id: str, fingerprint: str, payload: ErrorMuteIn) -> HttpResponse:
    """Leave it out of the list and of the count of open errors until a time, or until it was seen `times` times more."""
    error, _ = _changed(request, project_id, fingerprint, payload.as_change())
    return json_reply(queries.error_detail(error))


@router.post(
    ERROR + "/unmute",
    response={200: ErrorDetail, **refusals(404, 410, 423)},
    operation_id="unmute_error",
    openapi_extra=takes(RUN),
)
def unmute(request: HttpRequest, project_id: str, fingerprint: str) -> HttpResponse:
    """End a mute."""
    error, _ = _changed(request, project_id, fingerprint, Change(Act.UNMUTE))
    return json_reply(queries.error_detail(error))


@router.post(
    "/{project_id}/errors-bulk",
    response={200: ErrorsChanged, **refusals(404, 410, 423)},
    operation_id="change_errors",
    openapi_extra=takes(RUN),
)
def change(request: HttpRequest, project_id: str, payload: ErrorChangesIn) -> HttpResponse:
    """Resolve, reopen, mute or unmute up to 500 errors in one transaction. It may be repeated."""
    done = state_changes.change_errors(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        fingerprints=payload.fingerprints,
        change=payload.as_change(),
        run_id=run_of(request),
    )
    return json_reply({"fingerprints": done.fingerprints, "unknown": done.unknown, "redacted": done.redacted})


def _changed(request: HttpRequest, project_id: str, fingerprint: str, change: Change) -> tuple[ErrorReport, Redacted]:
    return state_changes.change_error(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        fingerprint=fingerprint,
        change=change,
        run_id=run_of(request),
    )
