"""Memory as part of an account's export. It is imported only with a new project, not merged into an existing memory's
counts; and always without secrets."""

import uuid
from typing import Any

import orjson
from django.db.models import Max, Sum

from memory_app.models import (
    DeletedEntry,
    EndpointTiming,
    ErrorReport,
    FilteredCount,
    MemoryEntry,
    MemoryStore,
    MemoryVersion,
    Run,
)
from memory_app.models.entry import ENTRY_NAME
from memory_app.performance.histogram import LONGEST_MS, read_pairs
from sessions_app.core.redaction import redact, redact_text
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import read_json
from sessions_app.portability.content_kinds import Kind
from sessions_app.portability.secret_removal import WrongValue


def settle(project_id: uuid.UUID) -> None:
    """Recomputes the memory's counters from its rows."""
    entries = MemoryEntry.objects.filter(project_id=project_id)
    store = MemoryStore.objects.filter(project_id=project_id).first()
    if store is None and not entries.exists():
        return
    store = store or MemoryStore(project_id=project_id)
    held = entries.aggregate(size_bytes=Sum("size_bytes"), rev=Max("rev"))
    store.size_bytes, store.rev = held["size_bytes"] or 0, max(store.rev, held["rev"] or 0)
    store.save()


def _clean_named(values: dict[str, Any]) -> None:
    for field in ("namespace", "key"):
        if not ENTRY_NAME.fullmatch(values.get(field, "")):
            raise WrongValue(f"{field} has a wrong value")


def _clean_entry(values: dict[str, Any]) -> None:
    _clean_named(values)
    _clean_value(values)


def _clean_value(values: dict[str, Any]) -> None:
    values["value"] = _without_secrets(values.get("value", ""), "value")
    values["size_bytes"] = len(values["value"].encode())


def _clean_error(values: dict[str, Any]) -> None:
    for field in ("message", "known_fix"):
        values[field], _ = redact_text(values.get(field, ""))
    values["stack"] = _without_secrets(values.get("stack", ""), "stack")
    days = orjson.loads(_without_secrets(values.get("days", "{}"), "days"))
    if not isinstance(days, dict) or not all(type(count) is int for count in days.values()):
        raise WrongValue("days has a wrong value")


def _clean_timing(values: dict[str, Any]) -> None:
    values["endpoint"], _ = redact_text(values.get("endpoint", ""))
    try:
        buckets = read_pairs(orjson.loads(values["histogram"]))
    except (KeyError, ValueError):
        raise WrongValue("histogram has a wrong value") from None
    values["count"] = buckets.total()
    durations = [values.get(field, 0) for field in ("min_ms", "max_ms", "p50_ms", "p95_ms")]
    if not all(0 <= duration <= LONGEST_MS for duration in durations):
        raise WrongValue("a duration has a wrong value")


def _without_secrets(text: str, field: str) -> str:
    """The text without secrets; unchanged if there are none."""
    try:
        orjson.loads(text)
    except ValueError:
        raise WrongValue(f"{field} is not JSON") from None
    value, found = redact(read_json(text))
    return json_text(value) if found else text


KINDS = (
    Kind("memory", MemoryStore, "project", "project", without=("holder", "lease_expires_at")),
    Kind("run", Run, "project", "project", ("number",)),
    Kind("memory_entry", MemoryEntry, "project", "project", ("namespace", "key"), clean=_clean_entry),
    Kind("memory_version", MemoryVersion, "memory_entry", "entry", ("rev",), without=("deleted",), clean=_clean_value),
    Kind("deleted_entry", DeletedEntry, "project", "project", ("deleted_at", "id"), clean=_clean_named),
    Kind("deleted_version", MemoryVersion, "deleted_entry", "deleted", ("rev",), without=("entry",), clean=_clean_value),
    Kind("endpoint_timing", EndpointTiming, "project", "project", ("endpoint", "run"), clean=_clean_timing),
    Kind("error_report", ErrorReport, "project", "project", ("first_seen", "id"), clean=_clean_error),
    Kind("filtered_count", FilteredCount, "project", "project", ("rule_id",)),
)
