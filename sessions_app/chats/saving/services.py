"""How messages are saved: the whole save protocol (docs/protocol.md), alike on SQLite and PostgreSQL."""

import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson
from django.conf import settings

from sessions_app.chats.branches.placement import write_and_place
from sessions_app.chats.branches.tree import Tree
from sessions_app.chats.locking import LockedSession
from sessions_app.chats.reading.branches import with_siblings
from sessions_app.chats.reading.live_windows import marked
from sessions_app.chats.reading.messages import Page, live_window
from sessions_app.chats.saving.conflict_copies import ConflictCopies, keep_late_text
from sessions_app.chats.saving.idempotency import Step, etag, once
from sessions_app.chats.saving.message_batch import MessageBatch
from sessions_app.chats.saving.message_input import Rejected
from sessions_app.chats.saving.receipts import Answer
from sessions_app.chats.saving.save_rules import OpRules, Outcome
from sessions_app.chats.session_cap import drop_oldest
from sessions_app.chats.session_changes import SessionToCreate, change_fields, check_project, lock_or_create
from sessions_app.core.errors import Invalid, PreconditionFailed, PreconditionRequired
from sessions_app.core.storage.sql import rfc3339
from sessions_app.core.web.preconditions import named
from sessions_app.models import Caller
from sessions_app.models.event import EventType
from sessions_app.models.message import Removal
from sessions_app.models.times import now

# Characters of a text that an answer repeats for every op of its message.
SHORT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes(Step):
    """One request of one writer."""

    base_rev: int = 0
    ops: list[Any] = field(default_factory=list)
    opening_step: str | None = None
    normalized: list[str] = field(default_factory=list)
    # Whole-session save: live messages that the request omits are removed, if the window still has this version.
    replace: bool = False
    if_match: str | None = None
    # Nothing is done unless this is the session's rev.
    if_rev: int | None = None
    # Nothing is done if an op is rejected.
    atomic: bool = False
    create: SessionToCreate | None = None
    # Fields of the session that change: see `session_changes.COLUMNS`.
    session: dict[str, Any] | None = None
    # Sent by `flush`, whose response has no body.
    beacon: bool = False
    # The server's own end of an answer whose session was deleted meanwhile: a restore brings it back whole.
    in_trash: bool = False


class RevChanged(PreconditionFailed):
    code = "rev_changed"
    message = "The session's rev is not `if_rev`: it was changed. Nothing was done. Read it again, then decide."


class SomeRejected(Invalid):
    """`details.rejected`: as in an answer."""

    code = "rejected"

    def __init__(self, rejected: list[dict[str, Any]]) -> None:
        first, others = rejected[0], len(rejected) - 1
        more = f" {others} more in the details." if others else ""
        super().__init__(f"Nothing was saved. {first['message']}{more}", details={"rejected": rejected})


class WindowChanged(PreconditionFailed):
    """Includes the current window, so that the client need not read it."""

    code = "window_changed"


class IfMatchNeeded(PreconditionRequired):
    message = "`mode=replace` removes messages: send `If-Match` with the version that you have seen."


def save_changes(*, caller: Caller, session_id: uuid.UUID, changes: Changes) -> Answer:
    """Save one writer's changes. Repeatable: the same request gets the same answer, once applied.

    Returns 200 or, for a save from before a clear, 409. Raises NotFound, Gone, SeqReused, IfMatchNeeded,
    WindowChanged, RevChanged, SomeRejected, and what creating a session raises.
    """

    def act(session: LockedSession) -> dict[str, Any]:
        _check(caller, session, changes)
        seen = _seen_by_match(session, changes.if_match) if changes.replace else 0
        return _save(caller, session, changes, base_rev=max(changes.base_rev, seen))

    def refuse_stale(session: LockedSession) -> int:
        _check(caller, session, changes)
        return _keep_late_texts(caller, session, changes)

    return once(
        caller=caller,
        session_id=session_id,
        step=changes,
        act=act,
        refuse_stale=refuse_stale,
        lock=partial(lock_or_create, new=changes.create, in_trash=changes.in_trash),
    )


def _check(caller: Caller, session: LockedSession, changes: Changes) -> None:
    if changes.create is not None:
        check_project(caller=caller, session=session, new=changes.create)
    if changes.if_rev is not None and changes.if_rev != session.rev:
        raise RevChanged(details={"rev": session.rev, "epoch": session.epoch})


def _save(caller: Caller, session: LockedSession, changes: Changes, *, base_rev: int) -> dict[str, Any]:
    """The lists of the answer."""
    at, updated = now(), changes.session is not None and change_fields(session, changes.session)
    page = MessageBatch.of(session, named_ids(changes.ops), at=at)
    rules = _rules_of(session, changes, page, base_rev=base_rev)
    for index, op in enumerate(changes.ops):
        rules.apply(index, op)
    if changes.replace:
        _take_out_what_is_left_out(rules, changes.ops)
    _check_atomic(changes, rules.outcome)
    write_and_place(session, page, rev=rules.next_rev)
    updated |= _move_head(session, rules, changes)
    _check_atomic(changes, rules.outcome)
    prev_rev, outcome = session.rev, rules.outcome
    dropped = _bump(caller, session, changes, rules, updated=updated)
    _omit_long_texts([*outcome.conflicts, *outcome.ignored])
    return {
        "prev_rev": prev_rev,
        "saved_at": rfc3339(at),
        "applied": outcome.applied,
        "ignored": outcome.ignored,
        "conflicts": outcome.conflicts,
        "rejected": outcome.rejected,
        "spared": list(outcome.spared),
        "dropped": dropped,
        "normalized": changes.normalized,
        "redacted": outcome.redacted,
        **_only_sometimes(session, outcome),
    }


def _rules_of(session: LockedSession, changes: Changes, page: MessageBatch, *, base_rev: int) -> OpRules:
    return OpRules(
        page=page,
        copies=ConflictCopies(session_id=session.id, epoch=session.epoch, writer_id=changes.writer_id),
        writer_id=changes.writer_id,
        seq=changes.seq,
        base_rev=base_rev,
        next_rev=session.rev + 1,
        redaction=session.redaction,
        beacon=changes.beacon,
    )


def _check_atomic(changes: Changes, outcome: Outcome) -> None:
    """What is raised takes back all that the request did so far."""
    if changes.atomic and outcome.rejected:
        raise SomeRejected(outcome.rejected)


def _omit_long_texts(entries: list[dict[str, Any]]) -> None:
    """Bounds what an answer says of stored messages, and with it what its receipt keeps: a few bytes name a long message.

    A long text is given once. Beyond two windows' bytes of texts, as JSON, the others have `text_omitted` in their place.
    """
    room, given = 2 * settings.WINDOW_BYTES, dict[str, str]()
    for entry in entries:
        server = entry.get("server")
        if server is None:
            continue
        text = server["text"]
        is_repeated = given.get(entry["id"]) == text and len(text) > SHORT
        size = 0 if is_repeated else len(orjson.dumps(text))
        if is_repeated or size > room:
            entry["server"] = {name: server[name] for name in server.keys() - {"text"}} | {"text_omitted": True}
        else:
            room -= size
            given[entry["id"]] = text


def _only_sometimes(session: LockedSession, outcome: Outcome) -> dict[str, Any]:
    """What an answer has only for some sessions and requests."""
    more: dict[str, Any] = {} if outcome.popped is None else {"popped": outcome.popped}
    if session.head is None:
        return more
    saved = Page([{"id": entry["id"]} for entry in outcome.applied if "removed" not in entry], [], more=False)
    beside = with_siblings(saved, session_id=session.id, live=session.live).items
    siblings = {item["id"]: item["siblings"] for item in beside if "siblings" in item}
    return {**more, "head": session.head or None, "siblings": siblings}


def _move_head(session: LockedSession, rules: OpRules, changes: Changes) -> bool:
    """The head that the request names; an unknown one is among `rejected`. True if it was moved."""
    wanted = (changes.session or {}).get("head")
    if wanted is None:
        return False
    tree = Tree(session, rev=rules.next_rev)
    node = tree.nodes.find(wanted)
    if node is None or not node.live:
        refusal = Rejected("unknown_message")
        rules.outcome.rejected.append(
            {"id": wanted, "index": len(changes.ops), "reason": refusal.reason, "message": refusal.message}
        )
        return False
    return tree.move_to(wanted)


def _bump(caller: Caller, session: LockedSession, changes: Changes, rules: OpRules, *, updated: bool) -> list[str]:
    """If something was applied: next rev, counters, event. A tombstone alone takes its position, a copy alone is told.

    Returns the ids that the hard cap dropped.
    """
    page, dropped = rules.page, list[str]()
    saved = bool(rules.outcome.applied) or changes.opening_step not in {None, session.opening_step}
    if saved or updated:
        session.rev = rules.next_rev
        session.opening_step = changes.opening_step if changes.opening_step is not None else session.opening_step
        session.message_count += page.added
        session.size_bytes += page.added_bytes
        dropped = drop_oldest(session)
    if saved or updated or page.last_position != session.last_position:
        session.last_position = page.last_position
        session.write()
    # Pages show the copies that are to be settled.
    told = updated or (rules.copies.changed and not saved)
    for kind, happened in ((EventType.SESSION_SAVED, saved), (EventType.SESSION_UPDATED, told)):
        if happened:
            session.publish(kind, caller, writer_id=changes.writer_id)
    return dropped


def _keep_late_texts(caller: Caller, session: LockedSession, changes: Changes) -> int:
    """The chat was cleared since: nothing is applied, but the text is kept as copies, and told. Returns their number."""
    copies = ConflictCopies(session_id=session.id, epoch=changes.epoch or session.epoch, writer_id=changes.writer_id)
    for op in changes.ops:
        if isinstance(op, dict):
            with suppress(Rejected):
                keep_late_text(copies, op, session.redaction)
    if copies.changed:
        session.publish(EventType.SESSION_UPDATED, caller, writer_id=changes.writer_id)
    return copies.kept


def _seen_by_match(session: LockedSession, if_match: str | None) -> int:
    """The newest rev that the writer has seen completely: the current one if `If-Match` names it, 0 if it is `*`."""
    if not if_match:
        raise IfMatchNeeded
    if if_match.strip() == "*":
        return 0
    present = etag(session)
    page = live_window(session_id=session.id, live=session.live)
    if not named(if_match, present, marked(present, streaming=page.streaming)):
        raise WindowChanged(details={"etag": marked(present, streaming=page.streaming), "messages": page.items})
    return session.rev


def _take_out_what_is_left_out(rules: OpRules, ops: list[Any]) -> None:
    page = rules.page
    window = live_window(session_id=page.session_id, live=page.live)
    sent = set(named_ids(ops))
    left_out = [item["id"] for item in window.items if item["id"] not in sent]
    page.load(left_out)
    rules.take_out_all([page.messages[message_id] for message_id in left_out], Removal.REPLACED.value)


def named_ids(ops: list[Any]) -> list[str]:
    named = (op.get("after") if op.get("op") == "truncate" else op.get("id") for op in ops if isinstance(op, dict))
    return list(dict.fromkeys(message_id for message_id in named if isinstance(message_id, str)))
