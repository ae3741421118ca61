"""Operations on a whole session: clear and undo, trash, removed messages, conflicts."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.chats.lifecycle.clearing import Undo, clear_session, undo_clear
from sessions_app.chats.lifecycle.deletion import undelete_session
from sessions_app.chats.lifecycle.removed_queries import conflict_json, list_conflicts, list_removed
from sessions_app.chats.lifecycle.restore_and_conflicts import ConflictNotFound, Restored, restore_message, settle_conflict
from sessions_app.chats.lifecycle.schemas import (
    ClearIn,
    ClearOut,
    ConflictList,
    RemovedList,
    RestoredOut,
    SettleIn,
    UndoClearIn,
    UndoClearOut,
)
from sessions_app.chats.reading.sessions import get_session, session_uuid
from sessions_app.chats.saving.api import answer_of
from sessions_app.chats.saving.idempotency import Step
from sessions_app.chats.saving.request_identity import step_of
from sessions_app.chats.sessions.schemas import SessionOut
from sessions_app.core.callers import caller_of
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.web.converters import ANYTHING
from sessions_app.core.web.responses import IDEMPOTENCY_KEY, json_reply, refusals, takes
from sessions_app.core.web.schemas import LIMIT, make_cursor, read_cursor, read_number

router = Router(tags=["Session life"])
# Defaults for requests without a body.
NO_UNDO, NO_CLEAR = UndoClearIn(), ClearIn()


@router.post(
    "/{session_id}/clear",
    response={200: ClearOut, **refusals(404, 409, 410)},
    operation_id="clear_session",
    openapi_extra=takes(IDEMPOTENCY_KEY),
)
def clear(request: HttpRequest, session_id: str, payload: ClearIn = NO_CLEAR) -> HttpResponse:
    """Clear the session: a new epoch with an empty window. `undo-clear` restores it for 30 days."""
    step = Step(**step_of(request, payload, must_be_named=False))
    return answer_of(clear_session(caller=caller_of(request), session_id=session_uuid(session_id), step=step))


@router.post(
    "/{session_id}/undo-clear",
    response={200: UndoClearOut, **refusals(404, 409, 410)},
    operation_id="undo_clear",
    openapi_extra=takes(IDEMPOTENCY_KEY),
)
def undo(request: HttpRequest, session_id: str, payload: UndoClearIn = NO_UNDO) -> HttpResponse:
    """Restore a cleared chat, before the messages written since. Nothing to undo → 409; already erased → 410."""
    undo = Undo(**step_of(request, payload), of=payload.of)
    return answer_of(undo_clear(caller=caller_of(request), session_id=session_uuid(session_id), undo=undo))


@router.get("/{session_id}/removed", response={200: RemovedList, **refusals(404, 410)}, operation_id="list_removed")
def removed(request: HttpRequest, session_id: str, cursor: str | None = None, limit: int = LIMIT) -> HttpResponse:
    """Messages cleared, truncated, replaced, dropped or deleted in the last 30 days, newest first."""
    row = get_session(caller=caller_of(request), session_id=session_uuid(session_id))
    page = list_removed(session_id=row.id, epoch=row.live.epoch, before=read_number(cursor), limit=limit)
    return json_reply({"items": page.items, "next": page.next})


@router.post(
    f"/{{session_id}}/removed/{{{ANYTHING}:message}}/restore",
    response={200: RestoredOut, **refusals(404, 409, 410)},
    operation_id="restore_message",
)
def restore(request: HttpRequest, session_id: str, message: str, epoch: int | None = None) -> HttpResponse:
    """Restore one message at its position. If several have this id: the newest, or the one of `?epoch=`."""
    own_id = session_uuid(session_id)
    return _restored(session_id, restore_message(caller=caller_of(request), session_id=own_id, message_id=message, epoch=epoch))


@router.get("/{session_id}/conflicts", response={200: ConflictList, **refusals(404, 410)}, operation_id="list_conflicts")
def conflicts(request: HttpRequest, session_id: str, cursor: str | None = None, limit: int = LIMIT) -> HttpResponse:
    """Open conflict copies: texts that could not be saved where they were sent, oldest first."""
    row = get_session(caller=caller_of(request), session_id=session_uuid(session_id))
    found = list_conflicts(session_id=row.id, after=read_cursor(cursor), limit=limit)
    following = make_cursor(found[limit - 1].created_at, found[limit - 1].id) if len(found) > limit else None
    return json_reply({"items": [conflict_json(copy) for copy in found[:limit]], "next": following})


@router.post(
    "/{session_id}/conflicts/{copy_id}/settle", response={200: RestoredOut, **refusals(404, 410)}, operation_id="settle_conflict"
)
def settle(request: HttpRequest, session_id: str, copy_id: str, payload: SettleIn) -> HttpResponse:
    """Settle a conflict: keep the stored message (`theirs`), the copy (`ours`), or both."""
    own_id, copy = session_uuid(session_id), parse_id(copy_id, ConflictNotFound)
    done = settle_conflict(caller=caller_of(request), session_id=own_id, copy_id=copy, keep=payload.kept())
    return _restored(session_id, done)


@router.post("/{session_id}/undelete", response={200: SessionOut, **refusals(404, 410)}, operation_id="undelete_session")
def undelete(request: HttpRequest, session_id: str) -> HttpResponse:
    """Restore from the trash."""
    row = undelete_session(caller=caller_of(request), session_id=session_uuid(session_id))
    return json_reply(row.as_json(), etag=row.etag)


def _restored(session_id: str, done: Restored) -> HttpResponse:
    numbers = {"epoch": done.epoch, "prev_rev": done.prev_rev, "rev": done.rev}
    return json_reply({"session": session_id, **numbers, "message": done.message_id, "renamed": done.renamed})
