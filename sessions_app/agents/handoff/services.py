"""Writes to the live handoff of a project, and freezing it."""

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from sessions_app.agents.handoff.queries import LISTS, content_of, get_snapshot, mark_of
from sessions_app.chats.locking import lock_project_and_current
from sessions_app.core.errors import Conflict, Invalid, NotFound, PreconditionFailed, TooLarge
from sessions_app.core.id_parsing import refuse_dots
from sessions_app.core.limits import quotas
from sessions_app.core.redaction import Redacted, redact, redact_text
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.storage.transactions import write
from sessions_app.core.text import folded
from sessions_app.core.web.preconditions import ANY, Conditions
from sessions_app.events import event_log
from sessions_app.models import Caller, ChatSession, Handoff, HandoffSnapshot, Project
from sessions_app.models.event import EventType
from sessions_app.models.times import now

MOST_ITEMS = 2_000
# As compact JSON. A bundle, a page and a line of an export have all of it.
HANDOFF_BYTES = 4_000_000


class IdTaken(Conflict):
    code, message = "id_taken", "Another item has this id. Change that one, or leave `id` out."


class ItemNotFound(NotFound):
    kind, message = "handoff item", "The handoff has no item with this id; it may have been removed. Read the handoff."


class Empty(Conflict):
    code, message = "nothing_to_freeze", "The handoff is empty. Add a decision, a file, a risk or a summary first."


class HandoffTooLarge(TooLarge):
    message = (
        f"A handoff has at most {HANDOFF_BYTES:,} bytes as compact JSON. Shorten its texts, remove items that are done, "
        "or put long texts into memory or files."
    )

    def __init__(self, found: int) -> None:
        super().__init__(details={"limit": HANDOFF_BYTES, "found": found})


class Unchanged(Conflict):
    """`details` has the number of the newest snapshot, which is the same."""

    code, message = "nothing_changed", "Nothing changed since the newest snapshot."


class Changed(PreconditionFailed):
    """`details` has the current value."""

    code, message = "changed_meanwhile", "Somebody else changed this. Read the current value, then decide."


@dataclass(frozen=True, slots=True)
class Edited:
    """One item as it is now (or was, if removed), and the handoff's rev. `merged`: it was merged into an existing item."""

    item: dict[str, Any]
    rev: int
    merged: bool = False
    redacted: Redacted = field(default_factory=dict)


def update_handoff(
    *, caller: Caller, project_id: uuid.UUID, fields: dict[str, Any], conditions: Conditions = ANY
) -> tuple[Handoff, Redacted]:
    """Change the summary or replace whole lists; duplicates within a list are merged. Also returns what was redacted."""
    clean, redacted = redact(fields)

    def change(content: dict[str, Any]) -> None:
        for name, value in clean.items():
            if name in LISTS:
                _check_new_ids(content[name], value)
            content[name] = _merged(name, value) if name in LISTS else value

    return _change(caller, project_id, change, conditions), redacted


def add_item(*, caller: Caller, project_id: uuid.UUID, kind: str, item: dict[str, Any]) -> Edited:
    """Add the item, or merge it into one with the same text."""
    result: list[Any] = []
    item, redacted = redact(item)

    def change(content: dict[str, Any]) -> None:
        field = LISTS[kind]
        same = next((other for other in content[kind] if folded(other[field]) == folded(item[field])), None)
        if same is None:
            _check_number(kind, len(content[kind]) + 1)
            if any(other["id"] == item.get("id") for other in content[kind]):
                raise IdTaken(details={"id": item["id"]})
            refuse_dots(id=item.get("id"))
            content[kind].append(_with_id(item))
        else:
            _fill(same, item)
        result[:] = [same or content[kind][-1], same is not None]

    live = _change(caller, project_id, change)
    return Edited(result[0], live.rev, merged=result[1], redacted=redacted)


def edit_summary(*, caller: Caller, project_id: uuid.UUID, summary: str, seen: str) -> None:
    """`seen`: the mark of the summary that the editor saw. If the current one differs → 412 with the current one."""

    clean, _ = redact_text(summary)

    def change(content: dict[str, Any]) -> None:
        _check_seen(content["summary"], seen)
        content["summary"] = clean

    _change(caller, project_id, change)


def update_item(
    *,
    caller: Caller,
    project_id: uuid.UUID,
    kind: str,
    item_id: str,
    fields: dict[str, Any],
    seen: str = "",
    conditions: Conditions = ANY,
) -> Edited:
    """Change one item; None removes a field. `seen`: the mark of the item that the editor saw; if it differs → 412.
    `conditions` apply to the whole handoff.
    """
    result: list[dict[str, Any]] = []
    clean, redacted = redact(fields)

    def change(content: dict[str, Any]) -> None:
        item = _item(content, kind, item_id)
        _check_seen(item, seen)
        kept = {name: value for name, value in {**item, **clean}.items() if value is not None}
        content[kind][content[kind].index(item)] = kept
        result[:] = [kept]

    live = _change(caller, project_id, change, conditions)
    return Edited(result[0], live.rev, redacted=redacted)


def delete_item(
    *, caller: Caller, project_id: uuid.UUID, kind: str, item_id: str, seen: str = "", conditions: Conditions = ANY
) -> Edited:
    """Remove one item and return it; `seen` and `conditions` as for an update."""
    result: list[dict[str, Any]] = []

    def change(content: dict[str, Any]) -> None:
        item = _item(content, kind, item_id)
        _check_seen(item, seen)
        content[kind].remove(item)
        result[:] = [item]

    live = _change(caller, project_id, change, conditions)
    return Edited(result[0], live.rev)


def freeze_handoff(*, caller: Caller, project_id: uuid.UUID, only_changed: bool = False) -> HandoffSnapshot:
    """Save the live handoff as an immutable snapshot. `only_changed`: if it is like the newest snapshot, raise Unchanged."""

    def work() -> HandoffSnapshot:
        project = lock_project_and_current(caller=caller, project_id=project_id)
        handoff = _find(project)
        content = content_of(handoff)
        if not any(content.values()):
            raise Empty
        payload = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
        sha256 = hashlib.sha256(payload).hexdigest()
        newest = HandoffSnapshot.objects.filter(project=project, number=handoff.last_number, sha256=sha256)
        if only_changed and newest.exists():
            raise Unchanged(details={"number": handoff.last_number})
        quotas.check_bytes(caller.user_id, len(payload))
        current = project.current_session_id
        session = None if current is None else ChatSession.objects.get(id=current)
        handoff.last_number += 1
        handoff.rev += 1  # It reports the freeze, so it is a new version.
        handoff.frozen_at = now()
        handoff.save()
        HandoffSnapshot.objects.create(
            project=project,
            number=handoff.last_number,
            payload=payload.decode(),
            sha256=sha256,
            session_id=None if session is None else session.id,
            session_rev=None if session is None else session.rev,
            author=caller.username,
            created_at=handoff.frozen_at,
        )
        _tell(caller, project_id, EventType.HANDOFF_FROZEN, {"number": handoff.last_number})
        return get_snapshot(caller=caller, project_id=project_id, number=handoff.last_number)

    return write(work)


def _change(
    caller: Caller, project_id: uuid.UUID, change: Callable[[dict[str, Any]], None], conditions: Conditions = ANY
) -> Handoff:
    def work() -> Handoff:
        handoff = _find(lock_project_and_current(caller=caller, project_id=project_id))
        conditions.check(handoff.rev)
        content = content_of(handoff)
        change(content)
        before, handoff.content = handoff.content, json_text(content)
        _check_size(handoff.content, before)
        handoff.rev, handoff.updated_at = handoff.rev + 1, now()
        handoff.save()
        _tell(caller, project_id, EventType.HANDOFF_CHANGED, {"handoff_rev": handoff.rev})
        return handoff

    return write(work)


def _tell(caller: Caller, project_id: uuid.UUID, type: EventType, data: dict[str, Any]) -> None:
    event_log.publish(project_id=project_id, type=type, caller=caller, data=data)


def _find(project: Project) -> Handoff:
    return Handoff.objects.filter(project=project).first() or Handoff(project=project)


def _item(content: dict[str, Any], kind: str, item_id: str) -> dict[str, Any]:
    for item in content[kind]:
        if item["id"] == item_id:
            found: dict[str, Any] = item
            return found
    raise ItemNotFound


def _check_seen(present: Any, seen: str) -> None:
    if seen and mark_of(present) != seen:
        raise Changed(details={"now": present})


def _check_new_ids(present: list[dict[str, Any]], items: list[dict[str, Any]]) -> None:
    stored = {item["id"] for item in present}
    for item in items:
        if item.get("id") not in stored:
            refuse_dots(id=item.get("id"))


def _merged(kind: str, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items without duplicates, in their order."""
    found: dict[str, dict[str, Any]] = {}
    for item in items:
        same = found.setdefault(folded(item[LISTS[kind]]), item)
        if same is not item:
            _fill(same, item)
    _check_number(kind, len(found))
    return [_with_id(item) for item in found.values()]


def _fill(item: dict[str, Any], same: dict[str, Any]) -> None:
    """Fills missing fields of `item` from its duplicate `same`; existing fields stay."""
    item.update({name: value for name, value in same.items() if not item.get(name)})


def _check_number(kind: str, number: int) -> None:
    if number > MOST_ITEMS:
        raise Invalid(f"A handoff has at most {MOST_ITEMS} {kind}.", details={"field": kind})


def _check_size(content: str, before: str) -> None:
    """A handoff that is larger, because it was stored before there was a limit, may shrink."""
    size = len(content.encode())
    if size > HANDOFF_BYTES and size >= len(before.encode()):
        raise HandoffTooLarge(size)


def _with_id(item: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in item.items() if value is not None}
    return {"id": str(uuid.uuid4()), **given}
