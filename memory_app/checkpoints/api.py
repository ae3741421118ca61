import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from memory_app.checkpoints import queries, services
from memory_app.checkpoints.content_types import ALSO_MSGPACK, reply_with
from memory_app.checkpoints.names import checked, from_address
from memory_app.checkpoints.queries import Wanted
from memory_app.checkpoints.rows import Place
from memory_app.checkpoints.schemas import (
    CheckpointIn,
    CheckpointList,
    CheckpointOut,
    CheckpointSaved,
    WritesIn,
    WritesSaved,
)
from memory_app.key_value.batches.filters import WrongFilter, make_filter
from memory_app.models.graph_thread import ID_BYTES, NS_BYTES, THREAD_BYTES
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import ForeignCursor
from sessions_app.core.public_names import Caller
from sessions_app.core.serialization import strict_json
from sessions_app.core.web.responses import json_reply, no_content, refusals
from sessions_app.projects.queries import project_uuid

router = Router(tags=["Checkpoints"])
CHECKPOINTS = "/{project_id}/threads/{thread}/checkpoints"
CHECKPOINT = CHECKPOINTS + "/{ns}/{checkpoint_id}"
LISTED, MOST = 20, 100
PAGE: int = Query(LISTED, ge=1, le=MOST)  # type: ignore[type-arg]
NS: str | None = Query(None, description="Of this namespace only, as it is; empty: the root.")  # type: ignore[type-arg]
FILTER: str = Query("", description="As in a list of memory, over the metadata: an object as JSON.")  # type: ignore[type-arg]


@router.get(
    CHECKPOINTS,
    response={200: CheckpointList, **refusals(404, 410)},
    operation_id="list_checkpoints",
    openapi_extra=ALSO_MSGPACK,
)
def browse(
    request: HttpRequest,
    project_id: str,
    thread: str,
    ns: str | None = NS,
    before: str = "",
    filter: str = FILTER,
    cursor: str = "",
    limit: int = PAGE,
) -> HttpResponse:
    """The newest first, with values and pending writes. With `limit=1` the latest. Empty for an unknown thread. With
    `Accept: application/vnd.msgpack` as MessagePack, with bytes in `data` in place of `base64`."""
    return list_reply(
        caller_of(request), project_id, thread, (ns, before, filter, cursor, limit), request.headers.get("Accept", "")
    )


@router.get(
    CHECKPOINT,
    response={200: CheckpointOut, **refusals(404, 410)},
    operation_id="get_checkpoint",
    openapi_extra=ALSO_MSGPACK,
)
def read(request: HttpRequest, project_id: str, thread: str, ns: str, checkpoint_id: str) -> HttpResponse:
    """One checkpoint with its values and pending writes, also as MessagePack. `~` in the address is the root namespace."""
    return read_reply(caller_of(request), (project_id, thread, ns, checkpoint_id), request.headers.get("Accept", ""))


@router.put(
    CHECKPOINT,
    response={200: CheckpointSaved, 201: CheckpointSaved, **refusals(404, 409, 410, 413)},
    operation_id="put_checkpoint",
)
def put(request: HttpRequest, project_id: str, thread: str, ns: str, checkpoint_id: str, payload: CheckpointIn) -> HttpResponse:
    """Store a checkpoint with the values that are new in its thread; a retry changes nothing. 409 `unknown_versions` names
    versions that are neither sent nor stored."""
    normalized = request.normalized  # type: ignore[attr-defined]
    return _put(caller_of(request), (project_id, thread, ns, checkpoint_id), payload, normalized)


@router.delete(CHECKPOINT, response={204: None, **refusals(404, 410)}, operation_id="delete_checkpoint")
def delete(request: HttpRequest, project_id: str, thread: str, ns: str, checkpoint_id: str) -> HttpResponse:
    """Erase a checkpoint with its writes, for good."""
    services.delete_checkpoint(
        caller=caller_of(request), project_id=project_uuid(project_id), thread=_thread(thread), place=_place(ns, checkpoint_id)
    )
    return no_content()


@router.put(
    CHECKPOINT + "/writes/{task}",
    response={200: WritesSaved, **refusals(404, 410, 413)},
    operation_id="put_checkpoint_writes",
)
def put_writes(
    request: HttpRequest, project_id: str, thread: str, ns: str, checkpoint_id: str, task: str, payload: WritesIn
) -> HttpResponse:
    """Store what a task wrote after this checkpoint, which may come later. A retry changes nothing."""
    normalized = request.normalized  # type: ignore[attr-defined]
    return _put_writes(caller_of(request), (project_id, thread, ns, checkpoint_id, task), payload, normalized)


type Listed = tuple[str | None, str, str, str, int]


def list_reply(caller: Caller, project_id: str, thread: str, asked: Listed, accepts: str) -> HttpResponse:
    ns, before, sought, cursor, limit = asked
    wanted = Wanted(
        ns=None if ns is None else checked(ns, "ns", NS_BYTES),
        before=before and checked(before, "before", ID_BYTES),
        after=_read_cursor(cursor) if cursor else None,
        limit=limit,
        sought=make_filter(_filter(sought)) if sought else None,
    )
    items, values, after = queries.list_checkpoints(
        caller=caller, project_id=project_uuid(project_id), thread=_thread(thread), wanted=wanted
    )
    return reply_with(accepts, {"next": None if after is None else _make_cursor(after)}, items, values)


def read_reply(caller: Caller, named: tuple[str, ...], accepts: str) -> HttpResponse:
    project_id, thread, ns, checkpoint_id = named
    place = _place(ns, checkpoint_id)
    found, values = queries.read_checkpoint(
        caller=caller, project_id=project_uuid(project_id), thread=_thread(thread), place=place
    )
    return reply_with(accepts, {}, [found], values)


def put_reply(caller: Caller, named: tuple[str, ...], body: bytes) -> HttpResponse:
    """Stores the checkpoint of a body that was not parsed; `named`: the parts of its address. Raises ValidationError."""
    value, replaced = strict_json.loads(body)
    return _put(caller, named, CheckpointIn.model_validate(value), replaced)


def put_writes_reply(caller: Caller, named: tuple[str, ...], body: bytes) -> HttpResponse:
    """The same for a task's writes."""
    value, replaced = strict_json.loads(body)
    return _put_writes(caller, named, WritesIn.model_validate(value), replaced)


def _put(caller: Caller, named: tuple[str, ...], payload: CheckpointIn, replaced: list[str]) -> HttpResponse:
    project_id, thread, ns, checkpoint_id = named
    new = payload.new(_place(ns, checkpoint_id), replaced)
    stored = services.put_checkpoint(caller=caller, project_id=project_uuid(project_id), thread=_thread(thread), checkpoint=new)
    body = {"ns": new.place[0], "id": new.place[1], "created": stored.created, "differs": stored.differs}
    return json_reply(body, status=201 if stored.created else 200)


def _put_writes(caller: Caller, named: tuple[str, ...], payload: WritesIn, replaced: list[str]) -> HttpResponse:
    project_id, thread, ns, checkpoint_id, task = named
    stored = services.put_writes(
        caller=caller,
        project_id=project_uuid(project_id),
        thread=_thread(thread),
        place=_place(ns, checkpoint_id),
        task=(from_address(task, "task", ID_BYTES), payload.path),
        writes=payload.new(replaced),
    )
    return json_reply({"stored": stored})


def _thread(part: str) -> str:
    return from_address(part, "thread", THREAD_BYTES)


def _place(ns: str, checkpoint_id: str) -> Place:
    return from_address(ns, "ns", NS_BYTES), from_address(checkpoint_id, "checkpoint_id", ID_BYTES)


def _filter(text: str) -> dict[str, Any]:
    try:
        value, _ = strict_json.loads(text.encode())
    except strict_json.UnreadableJson:
        value = None
    if not isinstance(value, dict):
        raise WrongFilter("`filter` is no JSON object.")
    return value


def _make_cursor(place: Place) -> str:
    return urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> Place:
    try:
        ns, checkpoint_id = orjson.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return checked(ns, "ns", NS_BYTES), checked(checkpoint_id, "cursor", ID_BYTES)
    except (ValueError, TypeError, AttributeError):
        raise ForeignCursor from None
