"""The sections of a project's context. Each takes one or two statements."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db.models import Q

from memory_app.models import EndpointTiming, ErrorReport, MemoryEntry
from memory_app.queries.budget import Kept, Section
from sessions_app.errors import Gone
from sessions_app.queries.handoff import LISTS, handoff_of
from sessions_app.queries.sessions import SessionRow, get_session
from sessions_app.queries.shared import Caller, rfc3339
from sessions_app.queries.states import states_of
from sessions_app.redaction import redact

RESOLVED_FOR = timedelta(days=7)
# More never fit.
MOST_NAMES = 10_000
TEXT_SHOWN = 200


@dataclass(slots=True)
class Reading:
    """One answer in the making. `skipped`: entries whose stored value is damaged."""

    caller: Caller
    project_id: uuid.UUID
    session_id: uuid.UUID | None
    at: datetime
    # Errors that noise rules kept out so far.
    filtered: int
    skipped: list[dict[str, str]] = field(default_factory=list)

    def href(self, rest: str) -> str:
        return f"/api/v1/projects/{self.project_id}/{rest}"


def baselines_section(reading: Reading) -> Section:
    rows = MemoryEntry.objects.filter(project_id=reading.project_id, namespace="baselines")
    count = rows.count()
    names = list(rows.order_by("key").values_list("key", flat=True)[:MOST_NAMES])
    return Section(
        "baselines",
        lambda kept: {"count": count, "names": kept["names"]},
        {"names": names},
        reading.href("memory/baselines"),
        count,
    )


def api_schema_section(reading: Reading) -> Section:
    endpoints, updated_at = _known_list(reading, "api_schema", "schema", "endpoints")
    return Section("api_schema", lambda kept: {"endpoint_count": len(endpoints), "updated_at": updated_at}, {})


def noise_section(reading: Reading) -> Section:
    rules, _ = _known_list(reading, "noise", "config", "rules")
    auto = sum(1 for rule in rules if isinstance(rule, dict) and rule.get("source") == "auto")
    figures = {"total": len(rules), "auto": auto, "manual": len(rules) - auto, "filtered": reading.filtered}
    return Section("noise", lambda kept: figures, {})


def errors_section(reading: Reading) -> Section:
    rows = ErrorReport.objects.kept_at(reading.at).filter(project_id=reading.project_id)
    recently = Q(resolved_at=None) | Q(resolved_at__gt=reading.at - RESOLVED_FOR)
    found = rows.filter(recently).defer("stack", "days").order_by("-last_seen", "id")
    lists: dict[str, list[Any]] = {"unresolved": [], "resolved": []}
    for row in found:
        lists["unresolved" if row.resolved_at is None else "resolved"].append(_error_json(row))
    return Section("errors", lambda kept: kept, lists, reading.href("errors"))


def _error_json(row: ErrorReport) -> dict[str, Any]:
    shown = {
        "fingerprint": row.fingerprint,
        "kind": row.kind,
        "message": row.message[:TEXT_SHOWN],
        "first_seen": rfc3339(row.first_seen),
        "last_seen": rfc3339(row.last_seen),
        "count": row.count,
    }
    if row.resolved_at is not None:
        shown |= {"resolved_at": rfc3339(row.resolved_at), "known_fix": row.known_fix[:TEXT_SHOWN]}
    return shown


def performance_section(reading: Reading) -> Section:
    rows = EndpointTiming.objects.filter(project_id=reading.project_id, newest=True)
    found = rows.values_list("endpoint", "run", "p95_ms", "earlier_p95_ms", "degraded").order_by("endpoint")
    endpoints = len(found)
    degraded = [
        {"endpoint": endpoint, "run": run, "p95_ms": round(p95, 1), "earlier_p95_ms": round(before or 0, 1)}
        for endpoint, run, p95, before, is_degraded in found
        if is_degraded
    ]
    return Section(
        "performance",
        lambda kept: {"endpoints": endpoints, "degraded": kept["degraded"]},
        {"degraded": degraded},
        reading.href("performance?degraded=true"),
    )


def handoff_section(reading: Reading) -> Section:
    """The live handoff, and which snapshot was frozen last; the snapshot itself is a link away."""
    found = handoff_of(reading.project_id)
    if found is None:
        return Section("handoff", lambda kept: None, {})
    live, _ = redact(found["live"])
    frozen = found["frozen"] and {name: value for name, value in found["frozen"].items() if name != "payload"}
    lists = {"summary": [live["summary"]] if live["summary"] else [], **{kind: live[kind] for kind in LISTS}}

    def build(kept: Kept) -> dict[str, Any]:
        whole = {**live, **kept, "summary": kept["summary"][0] if kept["summary"] else ""}
        return {"live": whole, "frozen": frozen}

    return Section("handoff", build, lists, reading.href("handoff"))


def session_section(reading: Reading) -> Section:
    """The current session as lists tell of it, not its messages."""
    session = _current_session(reading)
    shown = None if session is None else redact(session.as_json())[0]
    return Section("session", lambda kept: shown, {})


def ai_states_section(reading: Reading) -> Section:
    session_id = reading.session_id
    if session_id is None:
        return Section("ai_states", lambda kept: [], {})
    states = [redact(orjson.loads(orjson.dumps(state)))[0] for state in states_of(session_id).ais]
    return Section("ai_states", lambda kept: kept["items"], {"items": states}, f"/api/v1/sessions/{session_id}/ai-states")


def _current_session(reading: Reading) -> SessionRow | None:
    session_id = reading.session_id
    try:
        return None if session_id is None else get_session(caller=reading.caller, session_id=session_id)
    except Gone:
        return None


def _known_list(reading: Reading, namespace: str, key: str, name: str) -> tuple[list[Any], str | None]:
    """The list in a known entry and when that was written; a damaged value is named, and as if it was not there."""
    rows = MemoryEntry.objects.filter(project_id=reading.project_id, namespace=namespace, key=key)
    found = rows.values_list("value", "updated_at").first()
    if found is None:
        return [], None
    try:
        items = orjson.loads(found[0])[name]
    except (ValueError, TypeError, KeyError):
        items = None
    if not isinstance(items, list):
        reading.skipped.append({"namespace": namespace, "key": key})
        return [], None
    return items, rfc3339(found[1])
