"""The live handoff of a project, and freezing it."""

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from sessions_app import events
from sessions_app.errors import Conflict, Invalid, NotFound, PreconditionFailed
from sessions_app.models import Caller, ChatSession, Handoff, HandoffSnapshot, Project
from sessions_app.models.event import EventType
from sessions_app.models.sql import now
from sessions_app.queries.handoff import LISTS, content_of, get_snapshot, mark_of
from sessions_app.redaction import Redacted, redact, redact_text
from sessions_app.services.conditions import ANY, Conditions
from sessions_app.services.folding import folded
from sessions_app.services.json_text import json_text
from sessions_app.services.locking import lock_project_and_current
from sessions_app.services.writing import write

MOST_ITEMS = 2_000


class IdTaken(Conflict):
    code, message = "id_taken", "Another item has this id. Change that one, or leave `id` out."


class ItemNotFound(NotFound):
    kind, message = "handoff item", "The handoff has no item with this id; it may have been taken out. Read the handoff."


class Empty(Conflict):
    code, message = "nothing_to_freeze", "The handoff is empty. Add a decision, a file, a risk or a summary first."


class Changed(PreconditionFailed):
    """`details` has what stands there now."""

    code, message = "changed_meanwhile", "Somebody changed this meanwhile. Read what it says now, then decide."


@dataclass(frozen=True, slots=True)
class Edited:
    """One item as it stands now (as it stood, if it was taken out), and the handoff's rev. `merged`: into one that was there."""

    item: dict[str, Any]
    rev: int
    merged: bool = False
    redacted: Redacted = field(default_factory=dict)


def update_handoff(
    *, caller: Caller, project_id: uuid.UUID, fields: dict[str, Any], conditions: Conditions = ANY
) -> tuple[Handoff, Redacted]:
    """Change the summary, or put whole lists in place, merged in themselves. Answers what was redacted, too."""
    clean, redacted = redact(fields)

    def change(content: dict[str, Any]) -> None:
        for name, value in clean.items():
            content[name] = _merged(name, value) if name in LISTS else value

    return _change(caller, project_id, change, conditions), redacted


def add_item(*, caller: Caller, project_id: uuid.UUID, kind: str, item: dict[str, Any]) -> Edited:
    """Add it, or merge it into one that says the same."""
    result: list[Any] = []
    item, redacted = redact(item)

    def change(content: dict[str, Any]) -> None:
        field = LISTS[kind]
        same = next((other for other in content[kind] if folded(other[field]) == folded(item[field])), None)
        if same is None:
            _check_number(kind, len(content[kind]) + 1)
            if any(other["id"] == item.get("id") for other in content[kind]):
                raise IdTaken(details={"id": item["id"]})
            content[kind].append(_with_id(item))
        else:
            _fill(same, item)
        result[:] = [same or content[kind][-1], same is not None]

    live = _change(caller, project_id, change)
    return Edited(result[0], live.rev, merged=result[1], redacted=redacted)


def edit_summary(*, caller: Caller, project_id: uuid.UUID, summary: str, seen: str) -> None:
    """`seen`: the mark of the summary that the editor had before them. Another one stands there → 412 with it."""

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
    """Change one item; None takes a field out. `seen`: the mark of the item that the editor had before them; another → 412.
    `conditions` are on the whole handoff.
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
    """What was taken out; `seen` and `conditions` as for an update."""
    result: list[dict[str, Any]] = []

    def change(content: dict[str, Any]) -> None:
        item = _item(content, kind, item_id)
        _check_seen(item, seen)
        content[kind].remove(item)
        result[:] = [item]

    live = _change(caller, project_id, change, conditions)
    return Edited(result[0], live.rev)


def freeze_handoff(*, caller: Caller, project_id: uuid.UUID) -> HandoffSnapshot:
    """Write what the live handoff says as a snapshot that nothing changes any more."""

    def work() -> HandoffSnapshot:
        project = lock_project_and_current(caller=caller, project_id=project_id)
        handoff = _find(project)
        content = content_of(handoff)
        if not any(content.values()):
            raise Empty
        current = project.current_session_id
        session = None if current is None else ChatSession.objects.get(id=current)
        handoff.last_number += 1
        handoff.rev += 1  # It tells of the freeze, so it is another version.
        handoff.frozen_at = now()
        handoff.save()
        payload = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
        HandoffSnapshot.objects.create(
            project=project,
            number=handoff.last_number,
            payload=payload.decode(),
            sha256=hashlib.sha256(payload).hexdigest(),
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
        handoff.content, handoff.rev, handoff.updated_at = json_text(content), handoff.rev + 1, now()
        handoff.save()
        _tell(caller, project_id, EventType.HANDOFF_CHANGED, {"handoff_rev": handoff.rev})
        return handoff

    return write(work)


def _tell(caller: Caller, project_id: uuid.UUID, type: EventType, data: dict[str, Any]) -> None:
    events.publish(project_id=project_id, type=type, caller=caller, data=data)


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


def _merged(kind: str, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each that says something of its own, in their order."""
    found: dict[str, dict[str, Any]] = {}
    for item in items:
        same = found.setdefault(folded(item[LISTS[kind]]), item)
        if same is not item:
            _fill(same, item)
    _check_number(kind, len(found))
    return [_with_id(item) for item in found.values()]


def _fill(item: dict[str, Any], same: dict[str, Any]) -> None:
    """What the first one left out is taken from the one that says the same; what it says stays."""
    item.update({name: value for name, value in same.items() if not item.get(name)})


def _check_number(kind: str, number: int) -> None:
    if number > MOST_ITEMS:
        raise Invalid(f"A handoff has at most {MOST_ITEMS} {kind}.", details={"field": kind})


def _with_id(item: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in item.items() if value is not None}
    return {"id": str(uuid.uuid4()), **given}
