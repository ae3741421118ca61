"""Imports a file while the client waits."""

import io

from django.http import HttpRequest, HttpResponse

from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.portability.exports.api import LINES, router
from sessions_app.portability.imports.schemas import ImportOut
from sessions_app.portability.imports.services import import_file

UPLOAD = {"required": True, "content": {LINES: {"schema": {"type": "string", "description": "A file as exported."}}}}


@router.post(
    "/import",
    response={200: ImportOut, **refusals(409, 413)},
    operation_id="import_file",
    openapi_extra={"requestBody": UPLOAD},
)
def put_back(request: HttpRequest) -> HttpResponse:
    """Add the content of an export that this account lacks, all or nothing. Idempotent: existing content is not changed.

    A damaged file → 422 naming the line. For a file above the request limit use `POST /imports` or `manage.py import`.
    """
    done = import_file(caller=caller_of(request), file=io.BytesIO(request.body), sent_bytes=len(request.body))
    return json_reply({"added": done.added, "present": done.present, "redacted": done.redacted})
