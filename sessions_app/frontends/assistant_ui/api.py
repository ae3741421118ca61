"""Threads, titles and tokens for the client `assistant-cloud`, below `/v1`: its wire format, not ours."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.core.serialization.stored_json import stored_object
from sessions_app.core.web.responses import json_reply, no_content, refusals
from sessions_app.frontends.assistant_ui import services
from sessions_app.frontends.assistant_ui.authentication import KeyAuth, KeyNeeded, workspace_of
from sessions_app.frontends.assistant_ui.schemas import (
    CloudThreadIn,
    CloudThreadList,
    CloudThreadMade,
    CloudThreadOut,
    ThreadPatch,
    TitleIn,
    TokenOut,
)
from sessions_app.frontends.assistant_ui.services import MOST_THREADS, find_thread
from sessions_app.frontends.assistant_ui.titles import title_of
from sessions_app.frontends.assistant_ui.tokens import make_token
from sessions_app.models import Caller
from sessions_app.projects.queries import ProjectNotFound

router = Router(tags=["assistant-ui"])
LIMIT: int = Query(MOST_THREADS, ge=1, le=MOST_THREADS)  # type: ignore[type-arg]


def limited_caller(request: HttpRequest) -> Caller:
    """The caller, limited to the project of this request."""
    workspace = workspace_of(request)
    return services.limited(workspace.caller, workspace.project)


@router.post("/auth/tokens", auth=KeyAuth(), response={200: TokenOut, **refusals()}, operation_id="create_page_token")
def create_token(request: HttpRequest) -> HttpResponse:
    """A token for a page, valid for ten minutes in one project. Your backend asks for it with its key."""
    workspace = workspace_of(request)
    caller = services.limited_or_new(workspace.caller, workspace.project)
    if caller.key_id is None:
        raise KeyNeeded
    return json_reply({"token": make_token(key_id=caller.key_id, project_id=services.project_of(caller))})


@router.get("/threads", response={200: CloudThreadList, **refusals(404)}, operation_id="list_cloud_threads")
def browse(request: HttpRequest, is_archived: bool | None = None, after: str | None = None, limit: int = LIMIT) -> HttpResponse:
    """The project's sessions, most recently changed first."""
    try:
        caller = limited_caller(request)
    except ProjectNotFound:  # The first thread creates it.
        return json_reply({"threads": []})
    rows = services.list_threads(caller=caller, archived=is_archived, after=after, limit=limit)
    return json_reply({"threads": [_shape(row) for row in rows]})


@router.post("/threads", response={200: CloudThreadMade, **refusals(409, 413)}, operation_id="create_cloud_thread")
def create(request: HttpRequest, payload: CloudThreadIn) -> HttpResponse:
    """A new session; the project is created if needed."""
    workspace = workspace_of(request)
    row = services.create_thread(
        caller=services.limited_or_new(workspace.caller, workspace.project),
        title=payload.title or "",
        metadata=payload.metadata,
        external_id=payload.external_id,
        upsert=payload.upsert,
    )
    return json_reply({"thread_id": str(row.id)})


@router.get("/threads/{thread}", response={200: CloudThreadOut, **refusals(404, 410)}, operation_id="get_cloud_thread")
def read(request: HttpRequest, thread: str) -> HttpResponse:
    return json_reply({"thread": _shape(find_thread(caller=limited_caller(request), thread=thread))})


@router.put("/threads/{thread}", response={204: None, **refusals(404, 410, 413)}, operation_id="update_cloud_thread")
def update(request: HttpRequest, thread: str, payload: ThreadPatch) -> HttpResponse:
    """Title, metadata (as a whole), archived or not; what is left out stays."""
    fields = payload.model_dump(exclude_none=True)
    services.update_thread(caller=limited_caller(request), thread=thread, fields=fields)
    return no_content()


@router.delete("/threads/{thread}", response={204: None, **refusals(404)}, operation_id="delete_cloud_thread")
def delete(request: HttpRequest, thread: str) -> HttpResponse:
    """To the trash, from where a person can restore it."""
    services.delete_thread(caller=limited_caller(request), thread=thread)
    return no_content()


@router.post("/runs/stream", response={200: None, **refusals(404, 410)}, operation_id="stream_thread_title")
def stream_title(request: HttpRequest, payload: TitleIn) -> HttpResponse:
    """A title for the thread as plain text: the beginning of its first question. The client stores it by an update."""
    find_thread(caller=limited_caller(request), thread=payload.thread_id)
    return HttpResponse(title_of(payload.messages), content_type="text/plain; charset=utf-8")


def _shape(row: SessionRow) -> dict[str, object]:
    return {
        "id": str(row.id),
        "title": row.title,
        "metadata": None if row.metadata is None else stored_object(row.metadata),
        "external_id": row.external_id,
        "project_id": str(row.project_id),
        "workspace_id": row.project_path,
        "is_archived": bool(row.archive_requested),
        "last_message_at": row.updated_at,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }
