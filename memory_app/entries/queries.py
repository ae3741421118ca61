"""Reading entries."""

import uuid
from typing import Any

import orjson
from django.conf import settings
from django.db.models import Count, Sum
from django.db.models.functions import Left

from memory_app.core.stored_json import Damaged, EntryNotFound, as_json, is_json
from memory_app.entries.generated import generated_keys, generated_namespaces
from memory_app.models import DeletedEntry, EndpointTiming, ErrorReport, MemoryEntry, MemoryVersion
from memory_app.models.entry import ENTRY_BYTES, VERSIONS
from memory_app.models.error import KEPT, KEPT_FOR
from memory_app.models.performance import ENDPOINTS, RUNS
from sessions_app.core.errors import NotFound
from sessions_app.core.public_names import Caller, now, rfc3339
from sessions_app.projects.queries import get_project


def list_namespaces(*, caller: Caller, project_id: uuid.UUID) -> list[dict[str, Any]]:
    """The namespaces, each with its number of keys and its bytes."""
    get_project(caller=caller, project_id=project_id)
    rows = MemoryEntry.objects.filter(project_id=project_id).values("namespace").order_by("namespace")
    counted = {
        row["namespace"]: (row["count"], row["bytes"]) for row in rows.annotate(count=Count("id"), bytes=Sum("size_bytes"))
    }
    for namespace in generated_namespaces(project_id):
        count, size_bytes = counted.get(namespace, (0, 0))
        counted[namespace] = (count + 1, size_bytes)
    return [
        {"namespace": namespace, "count": count, "size_bytes": size_bytes}
        for namespace, (count, size_bytes) in sorted(counted.items())
    ]


def list_keys(
    *, caller: Caller, project_id: uuid.UUID, namespace: str, prefix: str, after: str, limit: int
) -> list[dict[str, Any]]:
    """The namespace's keys in order, without values; one more than `limit` if there are more."""
    get_project(caller=caller, project_id=project_id)
    rows = MemoryEntry.objects.filter(project_id=project_id, namespace=namespace, key__gt=after)
    if prefix:
        # Not LIKE, which ignores case on SQLite; not a range either, which depends on the database's collation.
        rows = rows.annotate(beginning=Left("key", len(prefix))).filter(beginning=prefix)
    found = rows.order_by("key").values_list("key", "rev", "size_bytes", "updated_at")[: limit + 1]
    keys = [
        {"key": key, "rev": rev, "size_bytes": size_bytes, "updated_at": rfc3339(updated_at)}
        for key, rev, size_bytes, updated_at in found
    ]
    made = [row for row in generated_keys(project_id, namespace) if row["key"].startswith(prefix) and row["key"] > after]
    return sorted(keys + made, key=lambda row: str(row["key"]))[: limit + 1] if made else keys


class EntryVersionNotFound(NotFound):
    kind, message = "version", "This entry has no version with this rev. List its versions: the last ten are kept."


def get_entry(*, caller: Caller, project_id: uuid.UUID, namespace: str, key: str) -> MemoryEntry:
    get_project(caller=caller, project_id=project_id)
    entry = MemoryEntry.objects.filter(project_id=project_id, namespace=namespace, key=key).first()
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
        "namespace": deleted.namespace,
        "key": deleted.key,
        "deleted_at": rfc3339(deleted.deleted_at),
        "by": deleted.by,
    }


def memory_stats(*, caller: Caller, project_id: uuid.UUID) -> dict[str, Any]:
    """`size_bytes` is what the quota counts: current values, without versions and generated entries."""
    project = get_project(caller=caller, project_id=project_id)
    namespaces = list_namespaces(caller=caller, project_id=project_id)
    return {
        "size_bytes": sum(row["size_bytes"] for row in namespaces),
        "entries": {row["namespace"]: row["count"] for row in namespaces},
        "session_count": max(1, project.session_count),
        "errors": ErrorReport.objects.kept_at(now()).filter(project_id=project_id).count(),
        "endpoints": EndpointTiming.objects.filter(project_id=project_id, newest=True).count(),
        "limits": {
            "project_bytes": settings.PROJECT_BYTES,
            "entry_bytes": ENTRY_BYTES,
            "versions": VERSIONS,
            "errors": KEPT,
            "error_days": KEPT_FOR.days,
            "endpoints": ENDPOINTS,
            "runs_an_endpoint": RUNS,
        },
    }


def entry_json(entry: MemoryEntry) -> dict[str, Any]:
    """Returns the stored text unchanged; raises Damaged if that would make the response invalid."""
    if not is_json(entry.value):
        raise Damaged
    return {
        "namespace": entry.namespace,
        "key": entry.key,
        "value": orjson.Fragment(entry.value),
        "rev": entry.rev,
        "size_bytes": entry.size_bytes,
        "updated_at": rfc3339(entry.updated_at),
    }


def version_json(version: MemoryVersion) -> dict[str, Any]:
    return {
        "rev": version.rev,
        "value": as_json(version.value),
        "size_bytes": version.size_bytes,
        "saved_at": rfc3339(version.saved_at),
        "by": version.by,
    }
