"""Export of whole sessions and accounts as files."""

from collections.abc import Callable
from typing import BinaryIO

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.core.callers import caller_of
from sessions_app.core.limits.stream_slots import StreamSlot
from sessions_app.core.spooled_file import SpooledFile
from sessions_app.core.web.responses import refusals
from sessions_app.models import Caller
from sessions_app.models.times import now
from sessions_app.portability.exports.export_file import export_account, export_session
from sessions_app.portability.exports.session_markdown import export_markdown

router = Router(tags=["Export"])
LINES, MARKDOWN = "application/x-ndjson", "text/markdown"
FILE = {"content": {LINES: {"schema": {"type": "string", "description": "One JSON object a line."}}}}
READABLE = {"content": {MARKDOWN: {"schema": {"type": "string"}}}}


@router.get(
    "/export",
    response={200: None, **refusals()},
    operation_id="export_account",
    openapi_extra={"responses": {200: FILE}},
)
def whole_account(request: HttpRequest) -> StreamingHttpResponse:
    """Your whole account in one file, including the trash; never keys or passwords. The last line proves that it is complete."""
    caller = caller_of(request)
    return _download(caller, lambda to: export_account(caller=caller, to=to), f"stillhere-{_today()}.ndjson", LINES)


@router.get(
    "/sessions/{session_id}/export",
    response={200: None, **refusals(404, 410)},
    operation_id="export_session",
    openapi_extra={"responses": {200: FILE}},
)
def whole_session(request: HttpRequest, session_id: str) -> StreamingHttpResponse:
    """One session with everything in it, including cleared and removed messages, as a file for `POST /import`."""
    caller, own_id = caller_of(request), session_uuid(session_id)
    return _download(caller, lambda to: export_session(caller=caller, session_id=own_id, to=to), f"{own_id}.ndjson", LINES)


@router.get(
    "/sessions/{session_id}/export.md",
    response={200: None, **refusals(404, 410)},
    operation_id="export_session_markdown",
    openapi_extra={"responses": {200: READABLE}},
)
def readable_session(request: HttpRequest, session_id: str) -> StreamingHttpResponse:
    """The session's messages as Markdown, for reading."""
    caller, own_id = caller_of(request), session_uuid(session_id)
    return _download(caller, lambda to: export_markdown(caller=caller, session_id=own_id, to=to), f"{own_id}.md", MARKDOWN)


def _download(caller: Caller, write: Callable[[BinaryIO], None], name: str, content_type: str) -> StreamingHttpResponse:
    with StreamSlot(user_id=caller.user_id) as place:
        content = SpooledFile(write)
        reply = StreamingHttpResponse(place.stream(content), content_type=f"{content_type}; charset=utf-8")
    reply["Content-Length"] = str(content.size)
    reply["Content-Disposition"] = f'attachment; filename="{name}"'
    reply["Cache-Control"] = "no-store"
    return reply


def _today() -> str:
    return now().date().isoformat()
