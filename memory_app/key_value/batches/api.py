import uuid

from django.http import HttpRequest, HttpResponse
from ninja import Router

from memory_app.core.run_header import run_named, run_of
from memory_app.key_value.batches.operations import Operation
from memory_app.key_value.batches.schemas import BatchIn, BatchOut
from memory_app.key_value.batches.services import run_batch
from memory_app.key_value.entries.api import browse_keys, purge_keys
from sessions_app.core.callers import caller_of
from sessions_app.core.public_names import Caller
from sessions_app.core.serialization import strict_json
from sessions_app.core.web.responses import RUN, json_reply, refusals, takes
from sessions_app.core.web.schemas import LIMIT
from sessions_app.projects.queries import project_uuid

router = Router(tags=["Memory"])
# A namespace may have this name: then what is done with it by its own address goes on to work.
NAME = "batch"
BATCH = f"/{{project_id}}/memory/{NAME}"


@router.post(
    BATCH,
    response={200: BatchOut, **refusals(404, 409, 410, 412, 413, 423)},
    operation_id="batch_memory",
    openapi_extra=takes(RUN),
)
def batch(request: HttpRequest, project_id: str, payload: BatchIn) -> HttpResponse:
    """Up to 500 operations in one transaction, in their order: each sees what those before it did. If one is refused, nothing is
    done, and the refusal's details have its `index`."""
    operations = payload.operations(request.body, request.normalized)  # type: ignore[attr-defined]
    return _done(caller_of(request), project_id, operations, run_of(request))


@router.get(BATCH, include_in_schema=False)
def browse_batch(request: HttpRequest, project_id: str, prefix: str = "", cursor: str = "", limit: int = LIMIT) -> HttpResponse:
    return browse_keys(request, project_id, NAME, prefix, cursor, limit)


@router.delete(BATCH, include_in_schema=False)
def purge_batch(request: HttpRequest, project_id: str, purge: bool = False) -> HttpResponse:
    return purge_keys(request, project_id, NAME, purge)


def batch_reply(caller: Caller, project_id: str, body: bytes, run: str) -> HttpResponse:
    """The same for a body that was not parsed; `run`: the header that names it. Raises ValidationError."""
    value, replaced = strict_json.loads(body)
    return _done(caller, project_id, BatchIn.model_validate(value).operations(body, replaced), run_named(run))


def _done(caller: Caller, project_id: str, operations: list[Operation], run_id: uuid.UUID | None) -> HttpResponse:
    results = run_batch(caller=caller, project_id=project_uuid(project_id), operations=operations, run_id=run_id)
    return json_reply({"results": results})
