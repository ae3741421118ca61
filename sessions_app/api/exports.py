"""Whole sessions and accounts as files, and back."""

import io
from collections.abc import Callable
from typing import BinaryIO

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Router

from sessions_app.api.caller import caller_of
from sessions_app.api.replies import json_reply, refusals
from sessions_app.models.sql import now
from sessions_app.queries.exports import export_account, export_session
from sessions_app.queries.markdown import export_markdown
from sessions_app.queries.sessions import session_uuid
from sessions_app.schemas.exports import ImportOut
from sessions_app.services.imports import import_file
from sessions_app.services.spool import Spooled

router = Router(tags=["Export"])
LINES, MARKDOWN = "application/x-ndjson", "text/markdown"
FILE = {"content": {LINES: {"schema": {"type": "string", "description": "One JSON object a line."}}}}
READABLE = {"content": {MARKDOWN: {"schema": {"type": "string"}}}}
UPLOAD = {"required": True, "content": {LINES: {"schema": {"type": "string", "description": "A file as exported."}}}}


@router.get(
    "/export",
    response={200: None, **refusals()},
    operation_id="export_account",
    openapi_extra={"responses": {200: FILE}},
)
def whole_account(request: HttpRequest) -> StreamingHttpResponse:
    """All that is yours in one file, the trash included; never keys or passwords. Its last line proves it whole."""
    caller = caller_of(request)
    return _download(lambda to: export_account(caller=caller, to=to), f"stillhere-{_today()}.ndjson", LINES)


@router.get(
    "/sessions/{session_id}/export",
    response={200: None, **refusals(404, 410)},
    operation_id="export_session",
    openapi_extra={"responses": {200: FILE}},
)
def whole_session(request: HttpRequest, session_id: str) -> StreamingHttpResponse:
    """One session with everything in it, also what was cleared or taken out, as a file for `POST /import`."""
    caller, own_id = caller_of(request), session_uuid(session_id)
    return _download(lambda to: export_session(caller=caller, session_id=own_id, to=to), f"{own_id}.ndjson", LINES)


@router.get(
    "/sessions/{session_id}/export.md",
    response={200: None, **refusals(404, 410)},
    operation_id="export_session_markdown",
    openapi_extra={"responses": {200: READABLE}},
)
def readable_session(request: HttpRequest, session_id: str) -> StreamingHttpResponse:
    """The session's messages as Markdown, for reading."""
    caller, own_id = caller_of(request), session_uuid(session_id)
    return _download(lambda to: export_markdown(caller=caller, session_id=own_id, to=to), f"{own_id}.md", MARKDOWN)


@router.post(
    "/import",
    response={200: ImportOut, **refusals(409, 413)},
    operation_id="import_file",
    openapi_extra={"requestBody": UPLOAD},
)
def put_back(request: HttpRequest) -> HttpResponse:
    """Add what an export holds and this account lacks, all or nothing. What is there stays as it is: twice is once.

    A damaged file → 422 naming the line. A larger one than a request may be goes in by `manage.py import`.
    """
    done = import_file(caller=caller_of(request), file=io.BytesIO(request.body))
    return json_reply({"added": done.added, "present": done.present, "redacted": done.redacted})


def _download(write: Callable[[BinaryIO], None], name: str, content_type: str) -> StreamingHttpResponse:
    content = Spooled(write)
    reply = StreamingHttpResponse(content, content_type=f"{content_type}; charset=utf-8")
    reply["Content-Length"] = str(content.size)
    reply["Content-Disposition"] = f'attachment; filename="{name}"'
    reply["Cache-Control"] = "no-store"
    return reply


def _today() -> str:
    return now().date().isoformat()
