"""Reading entries."""

import uuid
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings
from django.db.models import Value
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual, LessThan

from memory_app.core.namespaces import after_prefix, as_sent, bytewise
from memory_app.core.store_queries import get_store
from memory_app.core.stored_json import Damaged, EntryNotFound, as_json, is_json
from memory_app.key_value.entries.entry_rows import EntryRow
from memory_app.key_value.entries.generated import generated_keys
from memory_app.key_value.entries.namespace_queries import list_namespaces
from memory_app.models import DeletedEntry, EndpointTiming, ErrorReport, MemoryEntry, MemoryVersion
from memory_app.models.entry import ENTRY_BYTES, VERSIONS, EntryQuerySet
from memory_app.models.error import KEPT, KEPT_FOR
from memory_app.models.performance import ENDPOINTS, RUNS
from sessions_app.core.errors import NotFound
from sessions_app.core.public_names import Caller, now, rfc3339
from sessions_app.projects.queries import get_project


def list_keys(
    *, caller: Caller, project_id: uuid.UUID, namespace: str, prefix: str, after: str, limit: int
) -> list[dict[str, Any]]:
    """The namespace's keys in order, without values; one more than `limit` if there are more."""
    get_project(caller=caller, project_id=project_id)
    found = keys_from(project_id, namespace, prefix, after).values_list(*HEAD)[: limit + 1]
    keys = [head_json(*row) for row in found]
    made = [row for row in generated_keys(project_id, namespace) if row["key"].startswith(prefix) and row["key"] > after]
    return sorted(keys + made, key=lambda row: str(row["key"]))[: limit + 1] if made else keys


def keys_from(project_id: uuid.UUID, namespace: str, prefix: str, after: str) -> EntryQuerySet:
    """The namespace's entries in the order of their keys. A prefix is a range of bytes, which the index answers: not LIKE, which
    ignores case on SQLite."""
    rows = MemoryEntry.objects.live_at(now()).filter(project_id=project_id, namespace=namespace)
    if after:
        rows = rows.filter(GreaterThan(bytewise("key"), Value(after)))
    if prefix:
        rows = rows.filter(GreaterThanOrEqual(bytewise("key"), Value(prefix)))
    if prefix and (end := after_prefix(prefix)) is not None:
        rows = rows.filter(LessThan(bytewise("key"), Value(end)))
    return rows.order_by(bytewise("key"))


HEAD = ("key", "rev", "size_bytes", "updated_at", "expires_at")


def head_json(key: str, rev: int, size_bytes: int, updated_at: datetime, expires_at: datetime | None) -> dict[str, Any]:
    expires = {} if expires_at is None else {"expires_at": rfc3339(expires_at)}
    return {"key": key, "rev": rev, "size_bytes": size_bytes, "updated_at": rfc3339(updated_at), **expires}


class EntryVersionNotFound(NotFound):
    kind, message = "version", "This entry has no version with this rev. List its versions: the last ten are kept."


def get_entry(*, caller: Caller, project_id: uuid.UUID, namespace: str, key: str) -> MemoryEntry:
    get_project(caller=caller, project_id=project_id)
    entry = MemoryEntry.objects.live_at(now()).filter(project_id=project_id, namespace=namespace, key=key).first()
    if entry is None:
        raise EntryNotFound
    return entry


def list_versions(*, caller: Caller, project_id: uuid.UUID, namespace: str, key: str) -> list[MemoryVersion]:
    """The last ten values, newest first."""
    return list(get_entry(caller=caller, project_id=project_id, namespace=namespace, key=key).versions.all())


def list_version_heads(*, entry: MemoryEntry) -> list[MemoryVersion]:
    """The versions of an entry, without their values."""
    return list(entry.versions.defer("value"))


def get_version(*, entry_id: int, rev: int) -> MemoryVersion:
    """One earlier value of an entry. The caller must have checked access."""
    version = MemoryVersion.objects.filter(entry_id=entry_id, rev=rev).first()
    if version is None:
        raise EntryVersionNotFound
    return version


def list_deleted(*, caller: Caller, project_id: uuid.UUID) -> list[DeletedEntry]:
    """Deleted entries that can be restored, last deleted first."""
    get_project(caller=caller, project_id=project_id)
    return list(DeletedEntry.objects.filter(project_id=project_id))


def deleted_json(deleted: DeletedEntry) -> dict[str, Any]:
    return {
        "id": str(deleted.id),
        "namespace": as_sent(deleted.namespace),
        "key": deleted.key,
        "deleted_at": rfc3339(deleted.deleted_at),
        "by": deleted.by,
    }


def memory_stats(*, caller: Caller, project_id: uuid.UUID) -> dict[str, Any]:
    """`size_bytes` is what the quota counts: current values, without versions and generated entries."""
    project = get_project(caller=caller, project_id=project_id)
    namespaces = list_namespaces(caller=caller, project_id=project_id)
    store = get_store(project_id=project_id)
    return {
        "size_bytes": store.size_bytes,
        "checkpoint_bytes": store.checkpoint_bytes,
        "entries": {row["namespace"]: row["count"] for row in namespaces},
        "session_count": max(1, project.session_count),
        "errors": ErrorReport.objects.kept_at(now()).filter(project_id=project_id).count(),
        "endpoints": EndpointTiming.objects.filter(project_id=project_id, newest=True).count(),
        "limits": {
            "project_bytes": settings.PROJECT_BYTES,
            "checkpoint_bytes": settings.CHECKPOINT_BYTES,
            "entry_bytes": ENTRY_BYTES,
            "versions": VERSIONS,
            "errors": KEPT,
            "error_days": KEPT_FOR.days,
            "endpoints": ENDPOINTS,
            "runs_an_endpoint": RUNS,
        },
    }


def entry_json(entry: EntryRow) -> dict[str, Any]:
    """Returns the stored text unchanged; raises Damaged if that would make the response invalid."""
    if not is_json(entry.value):
        raise Damaged
    return {
        "namespace": as_sent(entry.namespace),
        "key": entry.key,
        "value": orjson.Fragment(entry.value),
        "rev": entry.rev,
        "size_bytes": entry.size_bytes,
        "created_at": rfc3339(entry.created_at),
        "updated_at": rfc3339(entry.updated_at),
        "expires_at": None if entry.expires_at is None else rfc3339(entry.expires_at),
    }


def version_json(version: MemoryVersion) -> dict[str, Any]:
    return {
        "rev": version.rev,
        "value": as_json(version.value),
        "size_bytes": version.size_bytes,
        "saved_at": rfc3339(version.saved_at),
        "by": version.by,
    }
