import dataclasses
from collections.abc import Collection
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.chats.reading.branches import Place, find_place, path_to, with_links, with_siblings
from sessions_app.chats.reading.frameworks.conversion import check_format, converted
from sessions_app.chats.reading.frameworks.whole_calls import whole_calls_after, with_whole_calls
from sessions_app.chats.reading.message_changes import changed_since
from sessions_app.chats.reading.messages import (
    Page,
    page_after,
    page_after_of_all,
    page_before,
    page_of_all,
    position_of,
)
from sessions_app.chats.reading.partial_messages import PARTIAL_FIELDS, named_fields, partial_page_after, partial_page_before
from sessions_app.chats.reading.sessions import SessionRow, get_session, moved_on, session_uuid
from sessions_app.chats.saving.receipts import Answer
from sessions_app.chats.saving.request_identity import step_of
from sessions_app.chats.saving.schemas import (
    AS,
    BRANCHES,
    HEAD,
    REPAIR,
    SINCE_REV,
    ChangedMessages,
    ChangesIn,
    ConvertedMessages,
    MessageList,
    PartialMessageList,
    SaveOut,
    SessionChangeIn,
    WholeSessionIn,
    WriterIn,
)
from sessions_app.chats.saving.services import Changes, save_changes
from sessions_app.chats.session_changes import SessionToCreate
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import Invalid, TooLarge
from sessions_app.core.web.responses import IDEMPOTENCY_KEY, IF_MATCH, json_headers, json_reply, refusals, takes
from sessions_app.core.web.schemas import BIGGEST, LIMIT
from sessions_app.core.web.waiting import SINCE_REV_WAIT, Awaited, nothing_yet
from sessions_app.models import Caller

router = Router(tags=["Messages"])
MOST_OPS = 500
# What is read of messages that become the objects of a framework.
CONVERTED_FIELDS = frozenset({"role", "text", "parts", "raw", "format"})
ONLY = f"Of each message only these, separated by commas: {', '.join(PARTIAL_FIELDS)}. Goes with `before`, `after` and `limit`."
FIELDS: str | None = Query(None, description=ONLY)  # type: ignore[type-arg]
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
    whole = {"replace": replace, "if_match": if_match, "if_rev": payload.if_rev, "atomic": payload.atomic}
    changes = changes_of(request, payload, ops, payload.base_rev, payload.opening_step, **whole)
    return answer_of(save_changes(caller=caller_of(request), session_id=session_uuid(session_id), changes=changes))


@router.get(
    "/{session_id}/messages",
    response={200: MessageList | ChangedMessages | ConvertedMessages | PartialMessageList, **refusals(404, 410)},
    operation_id="list_messages",
)
def browse(
    request: HttpRequest,
    session_id: str,
    before: str | None = None,
    after: str | None = None,
    since_rev: int | None = SINCE_REV,
    limit: int = LIMIT,
    as_: str | None = AS,
    repair: bool = REPAIR,
    wait: int = SINCE_REV_WAIT,
    head: str | None = HEAD,
    branches: bool = BRANCHES,
    fields: str | None = FIELDS,
) -> HttpResponse:
    """Pages of older (`before`) or newer (`after`) messages, oldest first in each; or with `since_rev` only changes, and with
    `wait` as soon as there are any.

    With `as`, one message may become several items, and several one. In a session with branches, the messages are those of the
    path to its head, to the message `head`, or with `branches` all.
    """
    _check_combination(head, after, since_rev, branches=branches)
    if wait and since_rev is None:
        raise Invalid("`wait` needs `since_rev`: the rev after which a change is awaited.", details={"field": "wait"})
    only = _fields_read(fields, as_, head, since_rev, repair=repair, branches=branches)
    row = get_session(caller=caller_of(request), session_id=session_uuid(session_id))
    if since_rev is not None:
        if wait and row.rev == since_rev:
            nothing_yet(request, Awaited(row.project_id, row.project_path, row.id, row.rev, wait))
        return _changes_reply(row, since_rev, limit, as_, repair=repair, branches=branches)
    row, page = _row_and_page(row, before, after, limit, head, only, branches=branches)
    if as_ is not None and repair and not branches:
        page = _with_whole_calls(row, page, after, head)
    page = page if only else _beside(row, page, branches=branches)
    return _reply(page, {"next": _edge(page, 0 if after is None else -1)}, as_, repair=repair)


def _changes_reply(row: SessionRow, since_rev: int, limit: int, as_: str | None, *, repair: bool, branches: bool) -> HttpResponse:
    page, others = _changed(row, since_rev, limit, branches=branches)
    if as_ is not None and repair and not branches:
        page = with_whole_calls(page, session_id=row.id, live=row.live)
    return _reply(_beside(row, page, branches=branches), others, as_, repair=repair)


def page_reply(
    caller: Caller, session_id: str, before: str | None, limit: int, as_: str | None, head: str | None, fields: str | None
) -> HttpResponse:
    """What `browse` returns to a request that has no other parameters. Raises Invalid."""
    only = _fields_read(fields, as_, head)
    row = get_session(caller=caller, session_id=session_uuid(session_id))
    row, page = _row_and_page(row, before, None, limit, head, only)
    page = page if only else _beside(row, page)
    return _reply(page, {"next": _edge(page, 0)}, as_)


def _fields_read(
    fields: str | None,
    as_: str | None,
    head: str | None,
    since_rev: int | None = None,
    *,
    repair: bool = False,
    branches: bool = False,
) -> frozenset[str] | None:
    """What is read of each message; None: all of it. Raises Invalid."""
    check_format(as_)
    if fields is None:
        return None if as_ is None or repair else CONVERTED_FIELDS
    if as_ is not None or head is not None or since_rev is not None or repair or branches:
        raise Invalid("`fields` goes with `before`, `after` and `limit` only.", details={"field": "fields"})
    return named_fields(fields)


def _check_combination(head: str | None, after: str | None, since_rev: int | None, *, branches: bool) -> None:
    if head is not None and (after is not None or since_rev is not None or branches):
        raise Invalid("`head` goes with `before` only: a path is read from its end.", details={"field": "head"})


def _row_and_page(row: SessionRow, *asked: Any, branches: bool = False) -> tuple[SessionRow, Page]:
    """`asked`: as for `_page_of`."""
    page = _page_of(row, *asked, branches=branches)
    if page.items or (live := moved_on(row)) is None:
        return row, page
    row = dataclasses.replace(row, live=live)
    return row, _page_of(row, *asked, branches=branches)


def _page_of(
    row: SessionRow,
    before: str | None,
    after: str | None,
    limit: int,
    head: str | None,
    only: Collection[str] | None,
    *,
    branches: bool = False,
) -> Page:
    own: dict[str, Any] = {"session_id": row.id, "live": row.live, "limit": limit}
    if head is not None:
        _place(row, head)
        return path_to(**own, head=head, before=None if before is None else _place(row, before))
    if only is not None and not branches:
        if after is not None:
            return partial_page_after(**own, position=_position(row, after), fields=only)
        return partial_page_before(**own, position=BIGGEST if before is None else _position(row, before), fields=only)
    if after is not None:
        return (page_after_of_all if branches else page_after)(**own, position=_position(row, after))
    position = BIGGEST if before is None else _position(row, before)
    return page_of_all(**own, before=position) if branches else page_before(**own, position=position)


def _with_whole_calls(row: SessionRow, page: Page, after: str | None, head: str | None) -> Page:
    own: dict[str, Any] = {"session_id": row.id, "live": row.live}
    return with_whole_calls(page, **own, head=head) if after is None else whole_calls_after(page, **own)


def _beside(row: SessionRow, page: Page, *, branches: bool = False) -> Page:
    """With what a session that has branches says of each message."""
    if row.head is None:
        return page
    return (with_links if branches else with_siblings)(page, session_id=row.id, live=row.live)


def _place(row: SessionRow, message_id: str) -> Place:
    found = find_place(session_id=row.id, live=row.live, message_id=message_id)
    if found is None:
        raise _no_such(message_id)
    return found


def _no_such(message_id: str) -> Invalid:
    return Invalid("This session has no such message. Read the session again.", details={"message": message_id[:64]})


def all_changes_of(request: HttpRequest, payload: ChangesIn) -> Changes:
    create = None if payload.create is None else SessionToCreate(**payload.create.model_dump())
    session = None if payload.session is None else _fields_of(payload.session)
    more = {"if_rev": payload.if_rev, "atomic": payload.atomic, "create": create, "session": session}
    return changes_of(request, payload, payload.ops, payload.base_rev, payload.opening_step, **more)


def _fields_of(session: SessionChangeIn) -> dict[str, Any]:
    named = {name: getattr(session, name) for name in session.model_fields_set}
    return {name: value for name, value in named.items() if value is not None or name == "metadata"}


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
    return HttpResponse(answer.body, status=answer.status, headers=headers_of(answer))


def headers_of(answer: Answer) -> dict[str, str]:
    headers = json_headers(answer.etag)
    return {**headers, "Idempotent-Replayed": "true"} if answer.replayed else headers


def _changed(row: SessionRow, since_rev: int, limit: int, *, branches: bool) -> tuple[Page, dict[str, Any]]:
    page, removed, last = changed_since(session_id=row.id, live=row.live, rev=since_rev, limit=limit, branches=branches)
    rev = row.rev if last is None else last
    head = {} if row.head is None else {"head": row.head or None}
    return page, {"removed": removed, "epoch": row.epoch, "rev": rev, **head, "more": page.more, "next": None}


def _edge(page: Page, at: int) -> str | None:
    """The message to continue from."""
    return page.items[at]["id"] if page.items and page.more else None


def _reply(page: Page, others: dict[str, Any], format_: str | None, *, repair: bool = False) -> HttpResponse:
    items = {"items": page.items} if format_ is None else converted(page.items, format_, repair=repair)
    return json_reply({**items, **others, "skipped": page.skipped})


def _position(row: SessionRow, message_id: str) -> int:
    position = position_of(session_id=row.id, live=row.live, message_id=message_id)
    if position is None:
        raise _no_such(message_id)
    return position
