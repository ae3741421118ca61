"""What happens to a whole session: clear and undo, trash, fork, what was removed, conflicts."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.api.caller import caller_of
from sessions_app.api.messages import answer_of, identity_of
from sessions_app.api.replies import json_reply, refusals
from sessions_app.queries.ids import parse_id
from sessions_app.queries.removed import conflict_json, list_conflicts, list_removed
from sessions_app.queries.sessions import get_session, session_uuid
from sessions_app.schemas.common import LIMIT, make_cursor, read_cursor, read_number
from sessions_app.schemas.life import (
    ClearIn,
    ClearOut,
    ConflictList,
    ForkIn,
    RemovedList,
    RestoredOut,
    SettleIn,
    UndoClearIn,
    UndoClearOut,
)
from sessions_app.schemas.messages import WriterIn
from sessions_app.schemas.sessions import SessionOut
from sessions_app.services.clearing import Undo, clear_session, undo_clear
from sessions_app.services.deletion import undelete_session
from sessions_app.services.forking import Fork, fork_session
from sessions_app.services.protocol import Step
from sessions_app.services.receipts import Request
from sessions_app.services.removed import ConflictNotFound, Restored, restore_message, settle_conflict

router = Router(tags=["Session life"])
# What a request without a body means.
NO_BODY = ForkIn()


@router.post("/{session_id}/clear", response={200: ClearOut, **refusals(404, 409, 410)}, operation_id="clear_session")
def clear(request: HttpRequest, session_id: str, payload: ClearIn) -> HttpResponse:
    """Start over: a new epoch with an empty window. `undo-clear` puts it back for 30 days."""
    step = Step(**_identity(request, payload))
    return answer_of(clear_session(caller=caller_of(request), session_id=session_uuid(session_id), step=step))


@router.post("/{session_id}/undo-clear", response={200: UndoClearOut, **refusals(404, 409, 410)}, operation_id="undo_clear")
def undo(request: HttpRequest, session_id: str, payload: UndoClearIn) -> HttpResponse:
    """Put a cleared chat back, before what was written since. Nothing to undo → 409; erased by now → 410."""
    undo = Undo(**_identity(request, payload), of=payload.of)
    return answer_of(undo_clear(caller=caller_of(request), session_id=session_uuid(session_id), undo=undo))


@router.get("/{session_id}/removed", response={200: RemovedList, **refusals(404, 410)}, operation_id="list_removed")
def removed(request: HttpRequest, session_id: str, cursor: str | None = None, limit: int = LIMIT) -> HttpResponse:
    """What was cleared, truncated, replaced, dropped or deleted in the last 30 days, the newest first."""
    row = get_session(caller=caller_of(request), session_id=session_uuid(session_id))
    page = list_removed(session_id=row.id, epoch=row.epoch, before=read_number(cursor), limit=limit)
    return json_reply({"items": page.items, "next": page.next})


@router.post(
    "/{session_id}/removed/{message}/restore",
    response={200: RestoredOut, **refusals(404, 409, 410)},
    operation_id="restore_message",
)
def restore(request: HttpRequest, session_id: str, message: str, epoch: int | None = None) -> HttpResponse:
    """Bring one message back to where it stood. Of several under one id the newest, or the one of `?epoch=`."""
    own_id = session_uuid(session_id)
    return _restored(session_id, restore_message(caller=caller_of(request), session_id=own_id, message_id=message, epoch=epoch))


@router.get("/{session_id}/conflicts", response={200: ConflictList, **refusals(404, 410)}, operation_id="list_conflicts")
def conflicts(request: HttpRequest, session_id: str, cursor: str | None = None, limit: int = LIMIT) -> HttpResponse:
    """Texts that could not go where they were sent, until somebody settles them: the oldest first."""
    row = get_session(caller=caller_of(request), session_id=session_uuid(session_id))
    found = list_conflicts(session_id=row.id, after=read_cursor(cursor), limit=limit)
    following = make_cursor(found[limit - 1].created_at, found[limit - 1].id) if len(found) > limit else None
    return json_reply({"items": [conflict_json(copy) for copy in found[:limit]], "next": following})


@router.post(
    "/{session_id}/conflicts/{copy_id}/settle", response={200: RestoredOut, **refusals(404, 410)}, operation_id="settle_conflict"
)
def settle(request: HttpRequest, session_id: str, copy_id: str, payload: SettleIn) -> HttpResponse:
    """End a conflict: keep what stands (`theirs`), the copy (`ours`), or both."""
    own_id, copy = session_uuid(session_id), parse_id(copy_id, ConflictNotFound)
    done = settle_conflict(caller=caller_of(request), session_id=own_id, copy_id=copy, keep=payload.kept())
    return _restored(session_id, done)


@router.post("/{session_id}/undelete", response={200: SessionOut, **refusals(404, 410)}, operation_id="undelete_session")
def undelete(request: HttpRequest, session_id: str) -> HttpResponse:
    """Back from the trash."""
    row = undelete_session(caller=caller_of(request), session_id=session_uuid(session_id))
    return json_reply(row.as_json(), etag=row.etag)


@router.post("/{session_id}/fork", response={201: SessionOut, **refusals(404, 410)}, operation_id="fork_session")
def fork(request: HttpRequest, session_id: str, payload: ForkIn = NO_BODY) -> HttpResponse:
    """A new current session with the messages up to one, here or in another project."""
    own_id = session_uuid(session_id)
    same = None
    if payload.writer_id is not None and payload.seq is not None:
        same = Request(own_id, payload.writer_id, payload.seq, identity_of(request, payload))
    wanted = Fork(payload.up_to, payload.project, same)
    return answer_of(fork_session(caller=caller_of(request), session_id=own_id, fork=wanted))


def _identity(request: HttpRequest, payload: WriterIn) -> dict[str, Any]:
    numbers = {"epoch": payload.epoch, "writer_id": payload.writer_id, "seq": payload.seq}
    return {**numbers, "body_sha256": identity_of(request, payload)}


def _restored(session_id: str, done: Restored) -> HttpResponse:
    numbers = {"epoch": done.epoch, "prev_rev": done.prev_rev, "rev": done.rev}
    return json_reply({"session": session_id, **numbers, "message": done.message_id, "renamed": done.renamed})
