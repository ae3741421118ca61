"""The memory of a project as a ZIP file."""

from django.http import HttpRequest, StreamingHttpResponse

from memory_app.key_value.entries.api import router
from memory_app.portability.folder.zip_export import zip_memory
from sessions_app.core.callers import caller_of
from sessions_app.core.limits.stream_slots import StreamSlot
from sessions_app.core.spooled_file import SpooledFile
from sessions_app.core.web.responses import refusals
from sessions_app.projects.queries import project_uuid

ZIP = "application/zip"
ZIPPED = {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}


@router.get(
    "/{project_id}/memory-export",
    response={200: None, **refusals(404, 410)},
    operation_id="export_memory",
    openapi_extra={"responses": {200: ZIPPED}},
)
def export(request: HttpRequest, project_id: str) -> StreamingHttpResponse:
    """The whole memory as a ZIP file: one JSON file per key, one folder per namespace, as `memory_import` reads it."""
    caller, own_id = caller_of(request), project_uuid(project_id)
    with StreamSlot(user_id=caller.user_id) as place:
        content = SpooledFile(lambda to: zip_memory(caller=caller, project_id=own_id, to=to))
        reply = StreamingHttpResponse(place.stream(content), content_type=ZIP)
    reply["Content-Length"] = str(content.size)
    reply["Content-Disposition"] = f'attachment; filename="memory-{own_id}.zip"'
    reply["Cache-Control"] = "no-store"
    return reply
