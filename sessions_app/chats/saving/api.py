from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.chats.reading.messages import Page, changed_since, page_after, page_before, position_of
from sessions_app.chats.reading.sessions import SessionRow, get_session, session_uuid
from sessions_app.chats.saving.receipts import Answer
from sessions_app.chats.saving.request_identity import step_of
from sessions_app.chats.saving.schemas import (
    SINCE_REV,
    ChangedMessages,
    ChangesIn,
    MessageList,
    SaveOut,
    WholeSessionIn,
    WriterIn,
)
from sessions_app.chats.saving.services import Changes, save_changes
from sessions_app.chats.session_changes import SessionToCreate
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import Invalid, TooLarge
from sessions_app.core.web.responses import IDEMPOTENCY_KEY, IF_MATCH, json_reply, refusals, takes
from sessions_app.core.web.schemas import BIGGEST, LIMIT

router = Router(tags=["Messages"])
MOST_OPS = 500
# Default for a request without a body.
NO_CHANGES = ChangesIn.model_validate({})


class TooManyOps(TooLarge):
    def __init__(self, found: int) -> None:
        super().__init__(f"At most {MOST_OPS} in one request: split it.", details={"limit": MOST_OPS, "found": found})


@router.post(
    "/{session_id}/changes",
    response={200: SaveOut, **refusals(404, 409, 410, 412, 413)},
    operation_id="save_changes",
    openapi_extra=takes(IDEMPOTENCY_KEY),
)
def save(request: HttpRequest, session_id: str, payload: ChangesIn = NO_CHANGES) -> HttpResponse:
    """**The save**: a writer's changes since its last one. Safe to repeat with the same body and `seq` (or `Idempotency-Key`)
    until answered."""
    changes = all_changes_of(request, payload)
    return answer_of(save_changes(caller=caller_of(request), session_id=session_uuid(session_id), changes=changes))


@router.put(
    "/{session_id}/messages",
    response={200: SaveOut, **refusals(404, 409, 410, 412, 413, 428)},
    operation_id="save_session",
    openapi_extra=takes(IF_MATCH, IDEMPOTENCY_KEY),
)
def save_whole(request: HttpRequest, session_id: str, payload: WholeSessionIn, mode: str = "") -> HttpResponse:
    """Save the whole session, each message by the rules of a save. Omitted messages stay; `?mode=replace` removes them."""
    if mode not in {"", "merge", "replace"}:
        raise Invalid("`mode` is `merge` or `replace`.", details={"field": "mode"})
    replace, if_match = mode == "replace", request.headers.get("If-Match")
    ops = [{**message, "op": "upsert"} if isinstance(message, dict) else message for message in payload.messages]
    whole = {"replace": replace, "if_match": if_match, "if_rev": payload.if_rev}
    changes = changes_of(request, payload, ops, payload.base_rev, payload.opening_step, **whole)
    return answer_of(save_changes(caller=caller_of(request), session_id=session_uuid(session_id), changes=changes))


@router.get(
    "/{session_id}/messages",
    response={200: MessageList | ChangedMessages, **refusals(404, 410)},
    operation_id="list_messages",
)
def browse(
    request: HttpRequest,
    session_id: str,
    before: str | None = None,
    after: str | None = None,
    since_rev: int | None = SINCE_REV,
    limit: int = LIMIT,
) -> HttpResponse:
    """Pages of older (`before`) or newer (`after`) messages, oldest first in each; or with `since_rev` only changes."""
    row = get_session(caller=caller_of(request), session_id=session_uuid(session_id))
    if since_rev is not None:
        return _changed(row, since_rev, limit)
    if after is not None:
        return _page(page_after(session_id=row.id, live=row.live, position=_position(row, after), limit=limit), newest=True)
    position = BIGGEST if before is None else _position(row, before)
    return _page(page_before(session_id=row.id, live=row.live, position=position, limit=limit), newest=False)


def all_changes_of(request: HttpRequest, payload: ChangesIn) -> Changes:
    create = None if payload.create is None else SessionToCreate(**payload.create.model_dump())
    session = None if payload.session is None else payload.session.model_dump(exclude_none=True)
    more = {"if_rev": payload.if_rev, "create": create, "session": session}
    return changes_of(request, payload, payload.ops, payload.base_rev, payload.opening_step, **more)


def changes_of(
    request: HttpRequest, payload: WriterIn, ops: list[Any], base_rev: int, opening_step: str | None, **more: Any
) -> Changes:
    if len(ops) > MOST_OPS:
        raise TooManyOps(len(ops))
    return Changes(
        **step_of(request, payload, replace=more.get("replace", False)),
        base_rev=base_rev,
        ops=ops,
        opening_step=opening_step,
        normalized=getattr(request, "normalized", []),
        **more,
    )


def answer_of(answer: Answer) -> HttpResponse:
    reply = json_reply(answer.body, status=answer.status, etag=answer.etag)
    if answer.replayed:
        reply["Idempotent-Replayed"] = "true"
    return reply


def _changed(row: SessionRow, since_rev: int, limit: int) -> HttpResponse:
    page, removed, last = changed_since(session_id=row.id, live=row.live, rev=since_rev, limit=limit)
    rev = row.rev if last is None else last
    body = {"items": page.items, "removed": removed, "epoch": row.epoch, "rev": rev, "more": page.more}
    return json_reply({**body, "next": None, "skipped": page.skipped})


def _page(page: Page, *, newest: bool) -> HttpResponse:
    edge = page.items[-1 if newest else 0]["id"] if page.items and page.more else None
    return json_reply({"items": page.items, "next": edge, "skipped": page.skipped})


def _position(row: SessionRow, message_id: str) -> int:
    position = position_of(session_id=row.id, live=row.live, message_id=message_id)
    if position is None:
        raise Invalid("This session has no such message. Read the session again.", details={"message": message_id[:64]})
    return position
