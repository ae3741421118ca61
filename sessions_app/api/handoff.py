"""What a project hands over: live, and frozen."""

from typing import Annotated

import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Path, Router

from sessions_app.api.agent_state import conditions_of
from sessions_app.api.caller import caller_of
from sessions_app.api.replies import IF_MATCH, json_reply, refusals, takes, unchanged
from sessions_app.errors import Invalid, NotFound
from sessions_app.queries.handoff import (
    LISTS,
    difference,
    get_handoff,
    get_snapshot,
    handoff_json,
    list_snapshots,
    markdown,
    snapshot_head,
    snapshot_json,
)
from sessions_app.queries.sessions import parse_id
from sessions_app.queries.states import read_json, state_etag
from sessions_app.schemas.common import LIMIT
from sessions_app.schemas.handoff import (
    Decision,
    Drift,
    File,
    HandoffOut,
    HandoffPatch,
    HandoffSaved,
    Item,
    ItemOut,
    ItemPatch,
    Risk,
    SnapshotHead,
    SnapshotList,
    SnapshotOut,
)
from sessions_app.services import handoff as services

router = Router(tags=["Handoff"])
Number = Annotated[int, Path(..., ge=1, description="The snapshot's number.")]
LIVE, SNAPSHOTS = "/{project_id}/handoff", "/{project_id}/handoff/snapshots"
ADDED = {200: ItemOut, 201: ItemOut, **refusals(404, 410)}


@router.get(LIVE, response={200: HandoffOut, 304: None, **refusals(404, 410)}, operation_id="get_handoff")
def read(request: HttpRequest, project_id: str) -> HttpResponse:
    """The live handoff; empty where nothing was written yet."""
    live = get_handoff(caller=caller_of(request), project_id=parse_id(project_id))
    etag = state_etag(live.rev)
    return unchanged(request, etag) or json_reply(handoff_json(live), etag=etag)


@router.patch(
    LIVE, response={200: HandoffSaved, **refusals(404, 410, 412)}, operation_id="update_handoff", openapi_extra=takes(IF_MATCH)
)
def update(request: HttpRequest, project_id: str, payload: HandoffPatch) -> HttpResponse:
    """Change the summary, or put whole lists in place; what is left out stays."""
    fields, wanted = payload.model_dump(exclude_unset=True), conditions_of(request)
    own_id = parse_id(project_id)
    live, redacted = services.update_handoff(caller=caller_of(request), project_id=own_id, fields=fields, conditions=wanted)
    return json_reply({**handoff_json(live), "redacted": redacted}, etag=state_etag(live.rev))


@router.post(LIVE + "/decisions", response=ADDED, operation_id="add_decision")
def add_decision(request: HttpRequest, project_id: str, payload: Decision) -> HttpResponse:
    """Add a decision. One that says the same (but for case and spaces) is merged: 200."""
    return _add(request, project_id, "decisions", payload)


@router.post(LIVE + "/files", response=ADDED, operation_id="add_file")
def add_file(request: HttpRequest, project_id: str, payload: File) -> HttpResponse:
    """Add a file. The same path is merged: 200."""
    return _add(request, project_id, "files", payload)


@router.post(LIVE + "/risks", response=ADDED, operation_id="add_risk")
def add_risk(request: HttpRequest, project_id: str, payload: Risk) -> HttpResponse:
    """Add a risk. One that says the same is merged: 200."""
    return _add(request, project_id, "risks", payload)


@router.post(LIVE + "/freeze", response={201: SnapshotHead, **refusals(404, 409, 410)}, operation_id="freeze_handoff")
def freeze(request: HttpRequest, project_id: str) -> HttpResponse:
    """Write a snapshot that nothing changes any more. An empty handoff → 409."""
    row = services.freeze_handoff(caller=caller_of(request), project_id=parse_id(project_id))
    return json_reply({**snapshot_head(row), "payload": orjson.Fragment(row.payload)}, status=201)


@router.get(SNAPSHOTS, response={200: SnapshotList, **refusals(404, 410)}, operation_id="list_snapshots")
def snapshots(request: HttpRequest, project_id: str, cursor: str | None = None, limit: int = LIMIT) -> HttpResponse:
    """The frozen ones, the newest first, without payloads."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise Invalid("This cursor is not one of ours. Use `next` as it was given.", details={"field": "cursor"})
    before = None if cursor is None else int(cursor)
    rows = list_snapshots(caller=caller_of(request), project_id=parse_id(project_id), before=before, limit=limit)
    following = str(rows[limit - 1].number) if len(rows) > limit else None
    return json_reply({"items": [snapshot_head(row) for row in rows[:limit]], "next": following})


@router.get(SNAPSHOTS + "/{int:number}.md", response={200: str, **refusals(404, 410)}, operation_id="export_snapshot")
def export(request: HttpRequest, project_id: str, number: Number) -> HttpResponse:
    """As Markdown, ready to paste into a new chat."""
    row = get_snapshot(caller=caller_of(request), project_id=parse_id(project_id), number=number)
    return HttpResponse(markdown(row), content_type="text/markdown; charset=utf-8", headers={"Cache-Control": "no-store"})


@router.get(SNAPSHOTS + "/{int:number}", response={200: SnapshotOut, **refusals(404, 410)}, operation_id="get_snapshot")
def snapshot(request: HttpRequest, project_id: str, number: Number) -> HttpResponse:
    """One snapshot, and how far the live handoff went on since (`drift`)."""
    caller, own_id = caller_of(request), parse_id(project_id)
    row = get_snapshot(caller=caller, project_id=own_id, number=number)
    return json_reply(snapshot_json(row, get_handoff(caller=caller, project_id=own_id)))


@router.get(
    SNAPSHOTS + "/{int:number}/diff/{int:other}", response={200: Drift, **refusals(404, 410)}, operation_id="diff_snapshots"
)
def diff(request: HttpRequest, project_id: str, number: Number, other: Number) -> HttpResponse:
    """What the other one has more, no longer, and otherwise than this one."""
    caller, own_id = caller_of(request), parse_id(project_id)
    rows = [get_snapshot(caller=caller, project_id=own_id, number=wanted) for wanted in (number, other)]
    old, new = (read_json(row.payload) for row in rows)
    return json_reply(dict(difference(old, new)))


@router.patch(LIVE + "/{kind}/{item}", response={200: ItemOut, **refusals(404, 410)}, operation_id="update_handoff_item")
def update_item(request: HttpRequest, project_id: str, kind: str, item: str, payload: ItemPatch) -> HttpResponse:
    """Change one item; what is left out stays."""
    own_id, name = parse_id(project_id), _kind(kind)
    fields = payload.fields(name)
    done, redacted = services.update_item(caller=caller_of(request), project_id=own_id, kind=name, item_id=item, fields=fields)
    return json_reply({"item": done, "merged": False, "redacted": redacted})


@router.delete(LIVE + "/{kind}/{item}", response={204: None, **refusals(404, 410)}, operation_id="delete_handoff_item")
def delete_item(request: HttpRequest, project_id: str, kind: str, item: str) -> HttpResponse:
    """Take one item out."""
    services.delete_item(caller=caller_of(request), project_id=parse_id(project_id), kind=_kind(kind), item_id=item)
    return HttpResponse(status=204)


def _add(request: HttpRequest, project_id: str, kind: str, payload: Item) -> HttpResponse:
    fields = payload.model_dump(exclude_unset=True)
    item, merged, redacted = services.add_item(caller=caller_of(request), project_id=parse_id(project_id), kind=kind, item=fields)
    return json_reply({"item": item, "merged": merged, "redacted": redacted}, status=200 if merged else 201)


def _kind(kind: str) -> str:
    if kind not in LISTS:
        raise NotFound
    return kind
