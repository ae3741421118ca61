"""Reads of handoffs: the live one, snapshots, and the difference between two."""

import hashlib
import json
import uuid
from typing import Any

import orjson

from sessions_app.core.errors import NotFound
from sessions_app.core.serialization.stored_json import exact_object, read_json, stored_object
from sessions_app.core.storage.sql import as_rfc3339, db_uuid, fetch_row, raw_time_sql, rfc3339
from sessions_app.models import Caller, Handoff, HandoffSnapshot
from sessions_app.projects.queries import get_project

LISTS = {"decisions": "text", "files": "path", "risks": "text"}


class SnapshotNotFound(NotFound):
    kind = "snapshot"
    message = "This project has no snapshot with this number. List its snapshots, or freeze the handoff to make one."


def get_handoff(*, caller: Caller, project_id: uuid.UUID) -> Handoff:
    """The project's live handoff; an empty one if nothing was saved yet."""
    project = get_project(caller=caller, project_id=project_id)
    found = Handoff.objects.filter(project_id=project_id).first()
    return found or Handoff(project_id=project_id, updated_at=project.created_at)


def content_of(handoff: Handoff) -> dict[str, Any]:
    return _filled(stored_object(handoff.content))


def _filled(content: dict[str, Any]) -> dict[str, Any]:
    """Adds new empty lists for the missing ones; the caller may change them."""
    return {**{kind: [] for kind in LISTS}, "summary": "", **content}


def mark_of(value: Any) -> str:
    """Identifies one version of an item or of the summary."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def handoff_json(handoff: Handoff) -> dict[str, Any]:
    frozen_at = None if handoff.frozen_at is None else rfc3339(handoff.frozen_at)
    times = {"updated_at": rfc3339(handoff.updated_at), "frozen_at": frozen_at}
    return {**content_of(handoff), "rev": handoff.rev, "last_snapshot": handoff.last_number or None, **times}


def list_snapshots(*, caller: Caller, project_id: uuid.UUID, before: int | None = None, limit: int = 50) -> list[HandoffSnapshot]:
    """Newest first, without payloads; one more than `limit` if there are more."""
    get_project(caller=caller, project_id=project_id)
    rows = HandoffSnapshot.objects.filter(project_id=project_id).defer("payload").order_by("-number")
    if before is not None:
        rows = rows.filter(number__lt=before)
    return list(rows[: limit + 1])


def get_snapshot(*, caller: Caller, project_id: uuid.UUID, number: int) -> HandoffSnapshot:
    get_project(caller=caller, project_id=project_id)
    found = HandoffSnapshot.objects.filter(project_id=project_id, number=number).first()
    if found is None:
        raise SnapshotNotFound
    return found


def snapshot_head(row: HandoffSnapshot) -> dict[str, Any]:
    session = None if row.session_id is None else str(row.session_id)
    return {
        "number": row.number,
        "sha256": row.sha256,
        "session": session,
        "session_rev": row.session_rev,
        "author": row.author,
        "created_at": rfc3339(row.created_at),
    }


def snapshot_json(row: HandoffSnapshot, live: Handoff) -> dict[str, Any]:
    """The payload as exactly the bytes that `sha256` covers, and how the live handoff changed since."""
    drift = difference(read_json(row.payload), content_of(live))
    return {**snapshot_head(row), "payload": orjson.Fragment(row.payload), "drift": drift}


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, list[Any]]:
    """What `new` added, removed and changed compared with `old`; items are matched by id."""
    found: dict[str, list[Any]] = {"added": [], "removed": [], "changed": []}
    for kind in LISTS:
        before = {item["id"]: item for item in old.get(kind, [])}
        after = {item["id"]: item for item in new.get(kind, [])}
        found["added"] += [{"kind": kind, "item": item} for key, item in after.items() if key not in before]
        found["removed"] += [{"kind": kind, "item": item} for key, item in before.items() if key not in after]
        changed = [key for key, item in after.items() if key in before and before[key] != item]
        found["changed"] += [{"kind": kind, "from": before[key], "to": after[key]} for key in changed]
    if old.get("summary", "") != new.get("summary", ""):
        found["changed"].append({"kind": "summary", "from": old.get("summary", ""), "to": new.get("summary", "")})
    return found


# For a SELECT in which `p` is the project.
HAS_HANDOFF_SQL = "EXISTS (SELECT 1 FROM sessions_app_handoff WHERE project_id = p.id)"


def handoff_of(project_id: uuid.UUID) -> dict[str, Any] | None:
    """`{live, frozen}` for a resume, in one statement; None if nothing was ever saved."""
    sql = (
        f"SELECT h.content, h.rev, {raw_time_sql('h.updated_at')}, {raw_time_sql('h.frozen_at')}, "  # noqa: S608 - constants only
        "s.number, s.payload, s.sha256 FROM sessions_app_handoff h LEFT JOIN sessions_app_handoffsnapshot s "
        "ON s.project_id = h.project_id AND s.number = h.last_number WHERE h.project_id = %s"
    )
    row = fetch_row(sql, [db_uuid(project_id)])
    if row is None:
        return None
    content, rev, updated_at, frozen_at, number, payload, sha256 = row
    # The live handoff is damaged: leave it out, but keep the snapshot.
    held = exact_object(content)
    live = {} if held is None else _filled(held)
    times = {"updated_at": as_rfc3339(updated_at), "frozen_at": frozen_at and as_rfc3339(frozen_at)}
    frozen: dict[str, Any] | None = None
    if number is not None:
        frozen = {"number": number, "sha256": sha256, "payload": orjson.Fragment(payload)}
    elif live.get("decisions"):
        frozen = {"derived": True, "payload": live}
    return {"live": {**live, "rev": rev, **times} if live else None, "frozen": frozen}


def markdown(row: HandoffSnapshot) -> str:
    """A snapshot ready to paste into a new chat."""
    payload = read_json(row.payload)
    lines = [f"# Handoff {row.number}", "", f"Frozen {rfc3339(row.created_at)} by {row.author}. SHA-256 `{row.sha256}`.", ""]
    if payload["summary"]:
        lines += [payload["summary"], ""]
    for kind, field in LISTS.items():
        if payload[kind]:
            items = [line for item in payload[kind] for line in _item_lines(item, field)]
            lines += [f"## {kind.capitalize()}", "", *items, ""]
    return "\n".join(lines)


def _item_lines(item: dict[str, Any], field: str) -> list[str]:
    text = f"`{item[field]}`" if field == "path" else item[field]
    rejected = item.get("rejected") or []
    below = [("Why", item.get("rationale"))]
    below += [("Rejected", other) for other in ([rejected] if isinstance(rejected, str) else rejected)]
    lines = [f"- {_inside(text, 2)}" + (f": {_inside(item['note'], 2)}" if item.get("note") else "")]
    return lines + [f"  - {name}: {_inside(said, 4)}" for name, said in below if said]


def _inside(text: str, depth: int) -> str:
    """Indents further lines so that they stay in the list item."""
    return "\n".join(line and (" " * depth if number else "") + line for number, line in enumerate(text.splitlines()))
