"""Handoff API: the live handoff of a project and its snapshots."""

from typing import Annotated

import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Path, Router

from sessions_app.agents.handoff import services
from sessions_app.agents.handoff.queries import (
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
from sessions_app.agents.handoff.schemas import (
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
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import NotFound
from sessions_app.core.serialization.stored_json import read_json
from sessions_app.core.storage.store_incarnation import state_etag
from sessions_app.core.web.responses import IF_MATCH, conditions_of, json_reply, refusals, takes, unchanged, without_content
from sessions_app.core.web.schemas import LIMIT, read_number
from sessions_app.projects.queries import project_uuid


class ListNotFound(NotFound):
    kind, message = "handoff list", f"A handoff has the lists {', '.join(LISTS)}."


router = Router(tags=["Handoff"])
Number = Annotated[int, Path(..., ge=1, description="The snapshot's number.")]
LIVE, SNAPSHOTS = "/{project_id}/handoff", "/{project_id}/handoff/snapshots"
ADDED = {200: ItemOut, 201: ItemOut, **refusals(404, 410)}


@router.get(LIVE, response={200: HandoffOut, 304: None, **refusals(404, 410)}, operation_id="get_handoff")
def read(request: HttpRequest, project_id: str) -> HttpResponse:
    """The live handoff; empty if nothing was saved yet."""
    live = get_handoff(caller=caller_of(request), project_id=project_uuid(project_id))
    etag = state_etag(live.rev)
    return unchanged(request, etag) or json_reply(handoff_json(live), etag=etag)


@router.patch(
    LIVE, response={200: HandoffSaved, **refusals(404, 410, 412)}, operation_id="update_handoff", openapi_extra=takes(IF_MATCH)
)
def update(request: HttpRequest, project_id: str, payload: HandoffPatch) -> HttpResponse:
    """Change the summary or replace whole lists; fields that are left out stay."""
    fields, wanted = payload.model_dump(exclude_unset=True), conditions_of(request)
    own_id = project_uuid(project_id)
    live, redacted = services.update_handoff(caller=caller_of(request), project_id=own_id, fields=fields, conditions=wanted)
    return json_reply({**handoff_json(live), "redacted": redacted}, etag=state_etag(live.rev))


@router.post(LIVE + "/decisions", response=ADDED, operation_id="add_decision")
def add_decision(request: HttpRequest, project_id: str, payload: Decision) -> HttpResponse:
    """Add a decision. A duplicate (ignoring case and spaces) is merged: 200."""
    return _add(request, project_id, "decisions", payload)


@router.post(LIVE + "/files", response=ADDED, operation_id="add_file")
def add_file(request: HttpRequest, project_id: str, payload: File) -> HttpResponse:
    """Add a file. The same path is merged: 200."""
    return _add(request, project_id, "files", payload)


@router.post(LIVE + "/risks", response=ADDED, operation_id="add_risk")
def add_risk(request: HttpRequest, project_id: str, payload: Risk) -> HttpResponse:
    """Add a risk. A duplicate is merged: 200."""
    return _add(request, project_id, "risks", payload)


@router.post(LIVE + "/freeze", response={201: SnapshotHead, **refusals(404, 409, 410)}, operation_id="freeze_handoff")
def freeze(request: HttpRequest, project_id: str) -> HttpResponse:
    """Save the live handoff as an immutable snapshot. An empty handoff → 409."""
    row = services.freeze_handoff(caller=caller_of(request), project_id=project_uuid(project_id))
    return json_reply({**snapshot_head(row), "payload": orjson.Fragment(row.payload)}, status=201)


@router.get(SNAPSHOTS, response={200: SnapshotList, **refusals(404, 410)}, operation_id="list_snapshots")
def snapshots(request: HttpRequest, project_id: str, cursor: str | None = None, limit: int = LIMIT) -> HttpResponse:
    """The snapshots, newest first, without payloads."""
    before, own_id = read_number(cursor, digits=9), project_uuid(project_id)
    rows = list_snapshots(caller=caller_of(request), project_id=own_id, before=before, limit=limit)
    following = str(rows[limit - 1].number) if len(rows) > limit else None
    return json_reply({"items": [snapshot_head(row) for row in rows[:limit]], "next": following})


@router.get(SNAPSHOTS + "/{number}.md", response={200: str, **refusals(404, 410)}, operation_id="export_snapshot")
def export(request: HttpRequest, project_id: str, number: Number) -> HttpResponse:
    """As Markdown, ready to paste into a new chat."""
    row = get_snapshot(caller=caller_of(request), project_id=project_uuid(project_id), number=number)
    return HttpResponse(markdown(row), content_type="text/markdown; charset=utf-8", headers={"Cache-Control": "no-store"})


@router.get(SNAPSHOTS + "/{number}", response={200: SnapshotOut, **refusals(404, 410)}, operation_id="get_snapshot")
def snapshot(request: HttpRequest, project_id: str, number: Number) -> HttpResponse:
    """One snapshot, and how the live handoff changed since (`drift`)."""
    caller, own_id = caller_of(request), project_uuid(project_id)
    row = get_snapshot(caller=caller, project_id=own_id, number=number)
    return json_reply(snapshot_json(row, get_handoff(caller=caller, project_id=own_id)))


@router.get(SNAPSHOTS + "/{number}/diff/{other}", response={200: Drift, **refusals(404, 410)}, operation_id="diff_snapshots")
def diff(request: HttpRequest, project_id: str, number: Number, other: Number) -> HttpResponse:
    """What the other snapshot added, removed and changed compared with this one."""
    caller, own_id = caller_of(request), project_uuid(project_id)
    rows = [get_snapshot(caller=caller, project_id=own_id, number=wanted) for wanted in (number, other)]
    old, new = (read_json(row.payload) for row in rows)
    return json_reply(dict(difference(old, new)))


@router.patch(
    LIVE + "/{kind}/{item}",
    response={200: ItemOut, **refusals(404, 410, 412)},
    operation_id="update_handoff_item",
    openapi_extra=takes(IF_MATCH),
)
def update_item(request: HttpRequest, project_id: str, kind: str, item: str, payload: ItemPatch) -> HttpResponse:
    """Change one item; fields that are left out stay. `If-Match`: only if the handoff is unchanged since it was read."""
    name = _kind(kind)
    done = services.update_item(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        kind=name,
        item_id=item,
        fields=payload.fields(name),
        conditions=conditions_of(request),
    )
    return _edited(done)


@router.delete(
    LIVE + "/{kind}/{item}",
    response={204: None, **refusals(404, 410, 412)},
    operation_id="delete_handoff_item",
    openapi_extra=takes(IF_MATCH),
)
def delete_item(request: HttpRequest, project_id: str, kind: str, item: str) -> HttpResponse:
    """Remove one item. `If-Match`: only if the handoff is unchanged since it was read."""
    done = services.delete_item(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        kind=_kind(kind),
        item_id=item,
        conditions=conditions_of(request),
    )
    reply = without_content(204)
    reply["ETag"] = state_etag(done.rev)
    return reply


def _add(request: HttpRequest, project_id: str, kind: str, payload: Item) -> HttpResponse:
    fields = payload.model_dump(exclude_unset=True)
    done = services.add_item(caller=caller_of(request), project_id=project_uuid(project_id), kind=kind, item=fields)
    return _edited(done, status=200 if done.merged else 201)


def _edited(done: services.Edited, *, status: int = 200) -> HttpResponse:
    """With the handoff's ETag, so that the next change can follow without a read."""
    body = {"item": done.item, "merged": done.merged, "redacted": done.redacted}
    return json_reply(body, status=status, etag=state_etag(done.rev))


def _kind(kind: str) -> str:
    if kind not in LISTS:
        raise ListNotFound
    return kind
