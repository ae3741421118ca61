"""Entries that nobody wrote: their values are made from what was recorded. They take no room of the quota."""

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from memory_app.models import MemoryStore
from memory_app.queries.errors import error_history, errors_recorded_at
from memory_app.queries.performance import performance_of, performance_recorded_at
from memory_app.queries.stored import EntryNotFound
from sessions_app.queries.projects import get_project
from sessions_app.queries.shared import Caller, rfc3339


@dataclass(frozen=True, slots=True)
class Source:
    """`recorded_at`: when something was recorded last, None where nothing ever was; `value`: all of it."""

    recorded_at: Callable[[uuid.UUID], datetime | None]
    value: Callable[[uuid.UUID], dict[str, Any]]


GENERATED = {
    ("errors", "history"): Source(errors_recorded_at, error_history),
    ("performance", "endpoints"): Source(performance_recorded_at, performance_of),
}


def get_generated(*, caller: Caller, project_id: uuid.UUID, namespace: str, key: str) -> tuple[dict[str, Any], str]:
    """In the shape of an entry, and its ETag. `rev` is that of the memory's newest write."""
    get_project(caller=caller, project_id=project_id)
    source = GENERATED[namespace, key]
    head = _head(project_id, key, source)
    if head is None:
        raise EntryNotFound
    text = orjson.dumps(source.value(project_id))
    entry = {"namespace": namespace, **head, "size_bytes": len(text), "value": orjson.Fragment(text)}
    return entry, f'"{hashlib.sha256(text).hexdigest()[:32]}"'


def generated_keys(project_id: uuid.UUID, namespace: str) -> list[dict[str, Any]]:
    """Of this namespace, in the shape of a list of keys."""
    heads = [_head(project_id, key, source) for (place, key), source in GENERATED.items() if place == namespace]
    return [{**head, "size_bytes": 0} for head in heads if head is not None]


def generated_namespaces(project_id: uuid.UUID) -> list[str]:
    return [namespace for (namespace, _), source in GENERATED.items() if source.recorded_at(project_id) is not None]


def _head(project_id: uuid.UUID, key: str, source: Source) -> dict[str, Any] | None:
    at = source.recorded_at(project_id)
    if at is None:
        return None
    return {"key": key, "rev": MemoryStore.objects.values_list("rev", flat=True).get(pk=project_id), "updated_at": rfc3339(at)}
