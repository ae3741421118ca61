from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.chats.reading.live_windows import window_of
from sessions_app.chats.reading.sessions import SessionRow, get_session, session_uuid
from sessions_app.chats.sessions import services as session_services
from sessions_app.chats.sessions.schemas import (
    SessionIn,
    SessionOut,
    SessionPatch,
    SessionPut,
    SessionWithMessages,
)
from sessions_app.chats.sessions.session_fields import metadata_text, patched_metadata, tags_text
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import Invalid, PreconditionRequired
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.core.web.converters import ANYTHING
from sessions_app.core.web.responses import IF_MATCH, MUST_BE_NEW, json_reply, refusals, takes, unchanged
from sessions_app.models import Caller
from sessions_app.models.session import EXTERNAL_ID_LENGTH
from sessions_app.projects.queries import project_uuid

router = Router(tags=["Sessions"])
# Default for a request without a body.
NO_BODY = SessionIn()
BY_EXTERNAL_ID = f"/projects/{{project_id}}/sessions/by-external/{{{ANYTHING}:external_id}}"


class IfNoneMatchNeeded(PreconditionRequired):
    message = "Send `If-None-Match: *` to create a session under your own id."


@router.post(
    "/projects/{project_id}/sessions",
    response={201: SessionOut, **refusals(404, 409, 410, 413)},
    operation_id="create_session",
)
def create(request: HttpRequest, project_id: str, payload: SessionIn = NO_BODY) -> HttpResponse:
    """Create a session; unless `current` is false it becomes the project's current one, and the previous one an earlier one."""
    new = _new(payload)
    row = session_services.create_session(caller=caller_of(request), project_id=project_uuid(project_id), new=new)
    return _row_reply(row, status=201)


@router.put(
    "/sessions/{session_id}",
    response={201: SessionOut, **refusals(404, 409, 412, 413, 428)},
    operation_id="put_session",
    openapi_extra=takes(MUST_BE_NEW),
)
def put(request: HttpRequest, session_id: str, payload: SessionPut) -> HttpResponse:
    """Create a session under the client's own UUID (`If-None-Match: *`); the project is created if needed."""
    if request.headers.get("If-None-Match", "").strip() != "*":
        raise IfNoneMatchNeeded
    new = _new(payload)
    if (own_id := uuid_or_none(session_id)) is None:
        raise NoUuid
    row = session_services.create_session_under_id(caller=caller_of(request), session_id=own_id, path=payload.project, new=new)
    return _row_reply(row, status=201)


class NoUuid(Invalid):
    def __init__(self) -> None:
        message = "The id of a new session is a UUID. For an id of your own: PUT /projects/{id}/sessions/by-external/{your id}."
        super().__init__(message, details={"field": "session_id"})


class WrongExternalId(Invalid):
    def __init__(self) -> None:
        message = (
            f"`external_id` in the address has 1 to {EXTERNAL_ID_LENGTH} characters; in the body it is the same or left out."
        )
        super().__init__(message, details={"field": "external_id"})


@router.get(
    BY_EXTERNAL_ID,
    response={200: SessionOut, **refusals(404, 410)},
    operation_id="get_session_by_external_id",
)
def read_by_external_id(request: HttpRequest, project_id: str, external_id: str) -> HttpResponse:
    """The project's session with your own id for it, percent-encoded in the address; in the trash → 410."""
    return by_external_id_reply(caller_of(request), project_id, external_id)


def by_external_id_reply(caller: Caller, project_id: str, external_id: str) -> HttpResponse:
    row = session_services.get_by_external_id(caller=caller, project_id=project_uuid(project_id), external_id=external_id)
    return _row_reply(row)


@router.put(
    BY_EXTERNAL_ID,
    response={200: SessionOut, 201: SessionOut, **refusals(404, 410, 413)},
    operation_id="put_session_by_external_id",
)
def put_by_external_id(request: HttpRequest, project_id: str, external_id: str, payload: SessionIn = NO_BODY) -> HttpResponse:
    """The session with your own id for it: as it is (200, the body changes nothing), or created from the body (201). Of several
    requests at the same time one creates it."""
    if not 1 <= len(external_id) <= EXTERNAL_ID_LENGTH or payload.external_id not in {None, external_id}:
        raise WrongExternalId
    row, made = session_services.ensure_by_external_id(
        caller=caller_of(request), project_id=project_uuid(project_id), new=_new(payload, external_id)
    )
    return _row_reply(row, status=201 if made else 200)


@router.get(
    "/sessions/{session_id}",
    response={200: SessionWithMessages, 304: None, **refusals(404, 410)},
    operation_id="get_session",
)
def read(request: HttpRequest, session_id: str, messages: bool = True) -> HttpResponse:
    """A session with its live window (`?messages=0`: without)."""
    row = get_session(caller=caller_of(request), session_id=session_uuid(session_id))
    if (reply := unchanged(request, row.etag)) is not None:
        return reply
    if not messages:
        return json_reply({"session": row.as_json(), "messages": [], "skipped": [], "more": row.message_count > 0}, etag=row.etag)
    window = window_of(row)
    return json_reply({"session": row.as_json(), **window.as_json()}, etag=window.mark(row.etag))


@router.patch(
    "/sessions/{session_id}",
    response={200: SessionOut, **refusals(404, 410, 412, 413)},
    operation_id="update_session",
    openapi_extra=takes(IF_MATCH),
)
def update(request: HttpRequest, session_id: str, payload: SessionPatch) -> HttpResponse:
    """Change title, opening step, metadata, tags, `pinned`, `archived`, `head`, or `current: true`; omitted fields stay."""
    fields: dict[str, Any] = payload.model_dump(exclude_none=True, exclude={"metadata", "tags", "if_title"})
    if payload.tags is not None:
        fields["tags"] = lambda row: tags_text(payload.tags or [])
    if "metadata" in payload.model_fields_set:
        fields["metadata"] = lambda row: patched_metadata(row.metadata, payload.metadata)
    own_id, if_match = session_uuid(session_id), request.headers.get("If-Match", "")
    row = session_services.update_session(
        caller=caller_of(request), session_id=own_id, fields=fields, if_match=if_match, if_title=payload.if_title
    )
    return json_reply(row.as_json(), etag=row.etag)


def _new(payload: SessionIn, external_id: str | None = None) -> session_services.NewSession:
    return session_services.NewSession(
        title=payload.title,
        opening_step=payload.opening_step,
        external_id=external_id or payload.external_id,
        metadata=metadata_text(payload.metadata),
        tags=tags_text(payload.tags),
        pinned=payload.pinned,
        current=payload.current,
    )


def _row_reply(row: SessionRow, *, status: int = 200) -> HttpResponse:
    return json_reply(row.as_json(), status=status, etag=row.etag)
