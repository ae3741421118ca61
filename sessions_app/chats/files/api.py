"""Files of messages: upload, list, download."""

import re
from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.http.multipartparser import MultiPartParserError
from django.utils.cache import patch_vary_headers
from django.utils.http import content_disposition_header
from ninja import Query, Router

from sessions_app.chats.files import blobs
from sessions_app.chats.files.content import IMAGES, Incoming
from sessions_app.chats.files.queries import FileNotStored, get_file, list_files
from sessions_app.chats.files.schemas import FileList, FileOut
from sessions_app.chats.files.services import upload_file
from sessions_app.chats.reading.sessions import get_session, session_uuid
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import AppError, BadRequest, Invalid
from sessions_app.core.web.file_response import CHUNK_BYTES, FileBody, FileResponse
from sessions_app.core.web.preconditions import named
from sessions_app.core.web.responses import json_reply, refusals, without_content
from sessions_app.core.web.schemas import LIMIT, read_number
from sessions_app.models import StoredFile

router = Router(tags=["Files"])
BINARY = {"schema": {"type": "string", "format": "binary"}}
FORM = {"schema": {"type": "object", "properties": {"file": BINARY["schema"]}, "required": ["file"]}}
UPLOAD = {"required": True, "content": {"application/octet-stream": BINARY, "multipart/form-data": FORM}}
DOWNLOAD = {"responses": {200: {"content": {"application/octet-stream": BINARY}}}}
NAME: str = Query("", description="Of a file that is sent as the body itself; without folders.")  # type: ignore[type-arg]
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
# Nothing in it runs or loads anything, even where a browser opens it as a page.
POLICY = "sandbox; default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
# Its content never changes. Only the browser of who may read it keeps it.
CACHED = "private, max-age=31536000, immutable"


class WrongRange(AppError):
    status, code, message = (
        416,
        "range_not_satisfiable",
        "The file is not that long. Ask for a range within it, or for all of it.",
    )


@router.post(
    "/sessions/{session_id}/files",
    response={200: FileOut, 201: FileOut, **refusals(404, 410, 413)},
    operation_id="upload_file",
    openapi_extra={"requestBody": UPLOAD},
)
def upload(request: HttpRequest, session_id: str, name: str = NAME) -> HttpResponse:
    """Store a file that messages of the session may name as `file`. The same content again → 200; it is stored once.

    The body is the file, with its `Content-Type` and `?name=`, or a form (`multipart/form-data`) with one file. A file that no
    message names is deleted after a day.
    """
    caller, own_id = caller_of(request), session_uuid(session_id)
    with Incoming() as incoming:
        chunks, said, media_type = _sent(request)
        incoming.take(chunks)
        stored, made = upload_file(caller=caller, session_id=own_id, file=incoming, name=name or said, media_type=media_type)
    return json_reply(stored.as_json(), status=201 if made else 200)


@router.get(
    "/sessions/{session_id}/files",
    response={200: FileList, **refusals(404, 410)},
    operation_id="list_session_files",
)
def browse(request: HttpRequest, session_id: str, cursor: str | None = None, limit: int = LIMIT) -> HttpResponse:
    """The files that the session's messages name, and those that were uploaded into it, oldest first."""
    caller = caller_of(request)
    row = get_session(caller=caller, session_id=session_uuid(session_id))
    found, following = list_files(caller=caller, session_id=row.id, after=read_number(cursor) or 0, limit=limit)
    return json_reply({"items": [file.as_json() for file in found], "next": None if following is None else str(following)})


@router.get(
    "/files/{file}",
    response={200: None, 206: None, 304: None, **refusals(404, 416)},
    operation_id="get_file",
    openapi_extra=DOWNLOAD,
)
def download(request: HttpRequest, file: str) -> HttpResponseBase:
    """A file of yours by its hash, as a download; images (PNG, JPEG, GIF, WebP, AVIF) with their type, to be shown."""
    found = get_file(caller=caller_of(request), reference=file)
    etag = _etag(found)
    if (seen := request.headers.get("If-None-Match")) and named(seen, etag):
        return _described(without_content(304), found)
    start, end = _range(request, found)
    try:
        content = blobs.read(found.key)
    except FileNotFoundError:
        raise FileNotStored from None
    content.seek(start)
    whole = end - start == found.size_bytes
    reply = FileResponse(
        FileBody(content, end - start), length=end - start, status=200 if whole else 206, content_type=found.media_type
    )
    if not whole:
        reply["Content-Range"] = f"bytes {start}-{end - 1}/{found.size_bytes}"
    return _described(reply, found)


@router.api_operation(["HEAD"], "/files/{file}", response={200: None, **refusals(404)}, operation_id="has_file")
def has_file(request: HttpRequest, file: str) -> HttpResponseBase:
    """Is this file stored, of what type and how large is it?"""
    found = get_file(caller=caller_of(request), reference=file)
    reply = HttpResponse(content_type=found.media_type)
    reply["Content-Length"] = str(found.size_bytes)
    return _described(reply, found)


def _sent(request: HttpRequest) -> tuple[Iterable[bytes], str, str]:
    """The chunks, the name and the declared type of the file that was sent."""
    if request.content_type != "multipart/form-data":
        return iter(lambda: request.read(CHUNK_BYTES), b""), "", request.content_type or ""
    try:
        files: list[Any] = [one for _, several in request.FILES.lists() for one in several]
    except MultiPartParserError:
        raise BadRequest("The form could not be read: it is cut off, or its boundary is wrong.") from None
    if len(files) != 1:
        raise Invalid("Send exactly one file in a form.", details={"files": len(files)})
    return files[0].chunks(CHUNK_BYTES), files[0].name or "", files[0].content_type or ""


def _etag(file: StoredFile) -> str:
    return f'"{file.sha256}"'


def _range(request: HttpRequest, file: StoredFile) -> tuple[int, int]:
    """The bytes that are asked for: all, or one range (RFC 9110). Several ranges, and unreadable ones, mean all."""
    size, asked = file.size_bytes, _RANGE.fullmatch(request.headers.get("Range", "").strip())
    condition = request.headers.get("If-Range")
    if asked is None or not any(asked.groups()) or (condition is not None and condition != _etag(file)):
        return 0, size
    first, last = asked.groups()
    start = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if start >= size or end <= start:
        raise WrongRange(details={"size_bytes": size})
    return start, end


def _described(reply: HttpResponseBase, file: StoredFile) -> HttpResponseBase:
    shown = file.media_type in IMAGES
    reply["ETag"], reply["Cache-Control"], reply["Accept-Ranges"] = _etag(file), CACHED, "bytes"
    reply["Content-Security-Policy"], reply["X-Content-Type-Options"] = POLICY, "nosniff"
    reply["Cross-Origin-Resource-Policy"] = "same-origin"
    reply["Content-Disposition"] = content_disposition_header(as_attachment=not shown, filename=file.name) or "inline"
    patch_vary_headers(reply, ["Authorization", "Cookie"])
    return reply
