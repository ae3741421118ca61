from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.chats.reading.live_windows import window_of
from sessions_app.chats.reading.sessions import get_session, list_sessions, session_uuid
from sessions_app.chats.search.services import catch_up
from sessions_app.chats.sessions import services as session_services
from sessions_app.chats.sessions.schemas import SessionIn, SessionList, SessionOut, SessionPatch, SessionPut, SessionWithMessages
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import PreconditionRequired
from sessions_app.core.web.responses import MUST_BE_NEW, json_reply, refusals, takes, unchanged
from sessions_app.core.web.schemas import LIMIT, make_cursor, read_cursor
from sessions_app.projects.queries import get_project, project_uuid

router = Router(tags=["Sessions"])
# Default for a request without a body.
NO_BODY = SessionIn()


class IfNoneMatchNeeded(PreconditionRequired):
    message = "Send `If-None-Match: *` to create a session under your own id."


@router.get("/projects/{project_id}/sessions", response={200: SessionList, **refusals(404, 410)}, operation_id="list_sessions")
def browse(
    request: HttpRequest,
    project_id: str,
    q: str = "",
    archived: bool | None = None,
    deleted: bool = False,
    cursor: str | None = None,
    limit: int = LIMIT,
) -> HttpResponse:
    """The project's sessions, most recently changed first. `q`: search in titles and texts. `deleted`: those in the trash."""
    caller = caller_of(request)
    project = get_project(caller=caller, project_id=project_uuid(project_id))
    if q:
        catch_up()
    found = list_sessions(
        caller=caller,
        project_id=project.id,
        text=q,
        archived=archived,
        deleted=deleted,
        after=read_cursor(cursor),
        limit=limit,
    )
    following = make_cursor(found.last.updated_at, found.last.id) if found.last else None
    return json_reply({"items": [row.as_json() for row in found.rows], "next": following})


@router.post(
    "/projects/{project_id}/sessions",
    response={201: SessionOut, **refusals(404, 409, 410)},
    operation_id="create_session",
)
def create(request: HttpRequest, project_id: str, payload: SessionIn = NO_BODY) -> HttpResponse:
    """Create a session; it becomes the project's current one, and the previous one is archived."""
    new = session_services.NewSession(payload.title, payload.opening_step, payload.external_id)
    row = session_services.create_session(caller=caller_of(request), project_id=project_uuid(project_id), new=new)
    return json_reply(row.as_json(), status=201, etag=row.etag)


@router.put(
    "/sessions/{session_id}",
    response={201: SessionOut, **refusals(404, 409, 412, 428)},
    operation_id="put_session",
    openapi_extra=takes(MUST_BE_NEW),
)
def put(request: HttpRequest, session_id: str, payload: SessionPut) -> HttpResponse:
    """Create a session under the client's own UUID (`If-None-Match: *`); the project is created if needed."""
    if request.headers.get("If-None-Match", "").strip() != "*":
        raise IfNoneMatchNeeded
    new = session_services.NewSession(payload.title, payload.opening_step, payload.external_id)
    own_id = session_uuid(session_id)
    row = session_services.create_session_under_id(caller=caller_of(request), session_id=own_id, path=payload.project, new=new)
    return json_reply(row.as_json(), status=201, etag=row.etag)


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


@router.patch("/sessions/{session_id}", response={200: SessionOut, **refusals(404, 410)}, operation_id="update_session")
def update(request: HttpRequest, session_id: str, payload: SessionPatch) -> HttpResponse:
    """Change title, opening step, `archived`, or `current: true`; omitted fields stay."""
    fields: dict[str, Any] = payload.model_dump(exclude_none=True)
    row = session_services.update_session(caller=caller_of(request), session_id=session_uuid(session_id), fields=fields)
    return json_reply(row.as_json(), etag=row.etag)
