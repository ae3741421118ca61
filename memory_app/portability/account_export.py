"""Memory as part of an account's export. It is imported only with a new project, not merged into an existing memory's
counts; and always without secrets."""

import uuid
from datetime import datetime
from typing import Any

import orjson
from django.db.models import Max, Sum

from memory_app.core.namespaces import check_namespace, check_place
from memory_app.core.stored_json import is_json, quick_or_exact
from memory_app.key_value.namespaces.services import count_settings
from memory_app.models import (
    DeletedEntry,
    EndpointTiming,
    ErrorDay,
    ErrorReport,
    FilteredCount,
    GraphThread,
    MemoryEntry,
    MemoryStore,
    MemoryVersion,
    NamespaceSettings,
    Run,
)
from memory_app.models.entry import ENTRY_BYTES, VERSIONS
from memory_app.models.namespace_settings import MOST_MINUTES
from memory_app.performance.histogram import LONGEST_MS, read_pairs
from memory_app.portability import thread_export
from sessions_app.core.errors import Invalid
from sessions_app.core.redaction import redact, redact_text
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import read_json
from sessions_app.portability.content_kinds import Kind
from sessions_app.portability.secret_removal import WrongValue


def settle(project_id: uuid.UUID) -> None:
    """Recomputes the memory's counters from its rows. Raises TooManySettings."""
    entries = MemoryEntry.objects.filter(project_id=project_id)
    store = MemoryStore.objects.filter(project_id=project_id).first()
    has_settings = count_settings(project_id) > 0
    checkpoint_bytes = thread_export.settle_threads(project_id)
    rev = _newest_rev(project_id)
    if store is None and not entries.exists() and not rev and not has_settings and not checkpoint_bytes:
        return
    store = store or MemoryStore(project_id=project_id)
    store.checkpoint_bytes, store.has_settings = checkpoint_bytes, has_settings
    store.size_bytes = entries.aggregate(size_bytes=Sum("size_bytes"))["size_bytes"] or 0
    store.rev = max(store.rev, rev)
    store.save()


def _newest_rev(project_id: uuid.UUID) -> int:
    """Also of versions and of what was deleted: a new value whose rev one of them has could not be stored."""
    revs = (
        MemoryEntry.objects.filter(project_id=project_id),
        MemoryVersion.objects.filter(entry__project_id=project_id),
        MemoryVersion.objects.filter(deleted__project_id=project_id),
    )
    return max(rows.aggregate(rev=Max("rev"))["rev"] or 0 for rows in revs)


def written_since(project_id: uuid.UUID, at: datetime) -> bool:
    """Checkpoints: other writes of contents have events."""
    return GraphThread.objects.filter(project_id=project_id, updated_at__gte=at).exists()


def _clean_named(values: dict[str, Any]) -> None:
    try:
        check_place(values.get("namespace", ""), values.get("key", ""))
    except Invalid as error:
        raise WrongValue(f"{error.details['field']} has a wrong value") from None


def _clean_entry(values: dict[str, Any]) -> None:
    _clean_named(values)
    _check_ranges(values, ("ttl_minutes", MOST_MINUTES, 0))
    _clean_value(values)


def _clean_value(values: dict[str, Any]) -> None:
    """What was stored exactly, because its owner wanted it so, stays exact."""
    values["value"] = _without_secrets(values.get("value", ""), "value", exact=values.get("exact", False))
    values["size_bytes"] = len(values["value"].encode())


def _clean_settings(values: dict[str, Any]) -> None:
    try:
        check_namespace(values.get("namespace", ""))
    except Invalid:
        raise WrongValue("namespace has a wrong value") from None
    _check_ranges(values, ("versions", VERSIONS, 0), ("entry_bytes", ENTRY_BYTES, 1), ("ttl_minutes", MOST_MINUTES, 0))


def _check_ranges(values: dict[str, Any], *limits: tuple[str, int, int]) -> None:
    for field, most, least in limits:
        value = values.get(field)
        if value is not None and not least <= value <= most:
            raise WrongValue(f"{field} has a wrong value")


def _clean_error(values: dict[str, Any]) -> None:
    for field in ("message", "known_fix"):
        values[field], _ = redact_text(values.get(field, ""))
    values["stack"] = _without_secrets(values.get("stack", ""), "stack")
    days = quick_or_exact(_without_secrets(values.get("days", "{}"), "days"))
    if not isinstance(days, dict) or not all(type(count) is int and abs(count) < 2**63 for count in days.values()):
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


def _without_secrets(text: str, field: str, *, exact: bool = False) -> str:
    """The text without secrets; unchanged if there are none, or if it is exact."""
    if not is_json(text):
        raise WrongValue(f"{field} is not JSON")
    if exact:
        return text
    try:
        value, found = redact(read_json(text))
    except RecursionError:
        raise WrongValue(f"{field} is nested too deeply") from None
    return json_text(value) if found else text


KINDS = (
    Kind("memory", MemoryStore, "project", "project", without=("holder", "lease_expires_at", "checkpoint_bytes")),
    Kind("memory_settings", NamespaceSettings, "project", "project", ("namespace",), clean=_clean_settings),
    Kind("run", Run, "project", "project", ("number",), without=("end_sha256",)),
    Kind("memory_entry", MemoryEntry, "project", "project", ("namespace", "key"), clean=_clean_entry),
    Kind("memory_version", MemoryVersion, "memory_entry", "entry", ("rev",), without=("deleted",), clean=_clean_value),
    Kind("deleted_entry", DeletedEntry, "project", "project", ("deleted_at", "id"), clean=_clean_named),
    Kind("deleted_version", MemoryVersion, "deleted_entry", "deleted", ("rev",), without=("entry",), clean=_clean_value),
    Kind("endpoint_timing", EndpointTiming, "project", "project", ("endpoint", "run"), clean=_clean_timing),
    Kind("error_report", ErrorReport, "project", "project", ("first_seen", "id"), clean=_clean_error),
    Kind("error_day", ErrorDay, "error_report", "error", ("day", "run")),
    Kind("filtered_count", FilteredCount, "project", "project", ("rule_id",)),
    *thread_export.KINDS,
)
