"""Generated entries: their values come from recorded data. They do not count for the quota."""

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from memory_app.core.stored_json import EntryNotFound
from memory_app.models import MemoryStore
from sessions_app.core.public_names import Caller, rfc3339
from sessions_app.projects.queries import get_project


@dataclass(frozen=True, slots=True)
class Source:
    """`recorded_at`: time of the last record, None if there is none; `value`: the generated value."""

    recorded_at: Callable[[uuid.UUID], datetime | None]
    value: Callable[[uuid.UUID], dict[str, Any]]


# By namespace and key; filled by `apps.py`.
GENERATED: dict[tuple[str, str], Source] = {}


def get_generated(*, caller: Caller, project_id: uuid.UUID, namespace: str, key: str) -> tuple[dict[str, Any], str]:
    """The generated entry in an entry's shape, and its ETag. `rev` is that of the memory's newest write."""
    get_project(caller=caller, project_id=project_id)
    found = find_generated(project_id, namespace, key)
    if found is None:
        raise EntryNotFound
    entry, text = found
    return entry, f'"{hashlib.sha256(text).hexdigest()[:32]}"'


def find_generated(project_id: uuid.UUID, namespace: str, key: str) -> tuple[dict[str, Any], bytes] | None:
    """The generated entry in an entry's shape, and its value; None: nothing was recorded. The caller must have checked access."""
    source = GENERATED[namespace, key]
    head = _head(project_id, key, source)
    if head is None:
        return None
    text = orjson.dumps(source.value(project_id))
    return {"namespace": namespace, **head, "size_bytes": len(text), "value": orjson.Fragment(text)}, text


def generated_keys(project_id: uuid.UUID, namespace: str) -> list[dict[str, Any]]:
    """The generated keys of this namespace, in the shape of a list of keys."""
    heads = [_head(project_id, key, source) for (place, key), source in GENERATED.items() if place == namespace]
    return [{**head, "size_bytes": 0} for head in heads if head is not None]


def generated_namespaces(project_id: uuid.UUID) -> list[str]:
    return [namespace for (namespace, _), source in GENERATED.items() if source.recorded_at(project_id) is not None]


def _head(project_id: uuid.UUID, key: str, source: Source) -> dict[str, Any] | None:
    at = source.recorded_at(project_id)
    if at is None:
        return None
    return {"key": key, "rev": MemoryStore.objects.values_list("rev", flat=True).get(pk=project_id), "updated_at": rfc3339(at)}
