"""The sections of a project's context. Each takes one or two statements."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db.models import QuerySet
from django.db.models.functions import Left

from memory_app.context.size_budget import Kept, Section
from memory_app.core.stored_json import quick_or_exact
from memory_app.models import EndpointTiming, ErrorReport, MemoryEntry
from sessions_app.agents.handoff.queries import LISTS, handoff_of
from sessions_app.agents.states.queries import states_of
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.core.errors import Gone
from sessions_app.core.public_names import Caller, rfc3339
from sessions_app.core.redaction import redact

RESOLVED_FOR = timedelta(days=7)
TEXT_SHOWN = 200
# An item's minimum size, so that no more are read than could fit.
LEAST_NAME_BYTES, LEAST_ERROR_BYTES = 4, 150
_OF_RESOLVED = ("resolved_at", "fix")


@dataclass(slots=True)
class Reading:
    """State of one response being built. `skipped`: entries whose stored value is damaged."""

    caller: Caller
    project_id: uuid.UUID
    session_id: uuid.UUID | None
    at: datetime
    # Errors filtered by noise rules so far, and the errors in the response.
    filtered: int
    errors: int
    room_bytes: int = 0
    skipped: list[dict[str, str]] = field(default_factory=list)

    def href(self, rest: str) -> str:
        return f"/api/v1/projects/{self.project_id}/{rest}"


def baselines_section(reading: Reading) -> Section:
    rows = MemoryEntry.objects.live_at(reading.at).filter(project_id=reading.project_id, namespace="baselines")
    count = rows.count()
    names = list(rows.order_by("key").values_list("key", flat=True)[: reading.room_bytes // LEAST_NAME_BYTES + 1])
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
    rows = ErrorReport.objects.kept_at(reading.at).filter(project_id=reading.project_id).order_by("-last_seen", "id")
    lists = {
        "unresolved": _errors(reading, rows.open_at(reading.at)),
        "resolved": _errors(reading, rows.filter(resolved_at__gt=reading.at - RESOLVED_FOR), *_OF_RESOLVED),
    }
    return Section("errors", lambda kept: kept, lists, reading.href("errors"), reading.errors)


def _errors(reading: Reading, rows: QuerySet[ErrorReport], *more: str) -> list[dict[str, Any]]:
    """Reads no more rows than could fit, without ORM objects: there are hundreds."""
    texts = {"said": Left("message", TEXT_SHOWN), "fix": Left("known_fix", TEXT_SHOWN)}
    found = rows.annotate(**texts).values("fingerprint", "kind", "said", "first_seen", "last_seen", "count", *more)
    return [_error_json(row) for row in found[: reading.room_bytes // LEAST_ERROR_BYTES + 1]]


def _error_json(row: dict[str, Any]) -> dict[str, Any]:
    row["message"] = row.pop("said")
    if "fix" in row:
        row["known_fix"] = row.pop("fix")
    return {name: rfc3339(value) if isinstance(value, datetime) else value for name, value in row.items()}


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
    """The live handoff, and the number of the latest snapshot, with a link to it."""
    found = handoff_of(reading.project_id)
    if found is None or found["live"] is None:  # None was saved, or it is damaged.
        return Section("handoff", lambda kept: None, {})
    live, _ = redact(found["live"])
    frozen = found["frozen"] and {name: value for name, value in found["frozen"].items() if name != "payload"}
    lists = {"summary": [live["summary"]] if live["summary"] else [], **{kind: live[kind] for kind in LISTS}}

    def build(kept: Kept) -> dict[str, Any]:
        whole = {**live, **kept, "summary": kept["summary"][0] if kept["summary"] else ""}
        return {"live": whole, "frozen": frozen}

    return Section("handoff", build, lists, reading.href("handoff"))


def session_section(reading: Reading) -> Section:
    """The current session as in lists, without messages."""
    session = _current_session(reading)
    shown = None if session is None else redact({**session.as_json(), "metadata": session.metadata_object})[0]
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
    """The list in a known entry, and when it was written; a damaged value is reported and counts as missing."""
    rows = MemoryEntry.objects.live_at(reading.at).filter(project_id=reading.project_id, namespace=namespace, key=key)
    found = rows.values_list("value", "updated_at").first()
    if found is None:
        return [], None
    try:
        items = quick_or_exact(found[0])[name]
    except (ValueError, RecursionError, TypeError, KeyError):
        items = None
    if not isinstance(items, list):
        reading.skipped.append({"namespace": namespace, "key": key})
        return [], None
    return items, rfc3339(found[1])
