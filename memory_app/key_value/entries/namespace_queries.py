"""The namespaces of a project, by prefix, suffix and depth."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Sum

from memory_app.core.namespaces import as_sent, beneath, bytewise, labels_of, pack
from memory_app.key_value.entries.generated import generated_namespaces
from memory_app.models import MemoryEntry
from sessions_app.core.public_names import Caller, now
from sessions_app.projects.queries import get_project

ANY_LABEL = "*"
# Without a limit of its own a list has all of them, as far as an answer of a bounded size goes.
MOST = 10_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Labels that a namespace begins and ends with (`*`: any one label), and at how many labels it is cut."""

    prefix: Sequence[str] = ()
    suffix: Sequence[str] = ()
    depth: int | None = None

    def matches(self, labels: list[str]) -> bool:
        return _equal(self.prefix, labels[: len(self.prefix)]) and (
            not self.suffix or _equal(self.suffix, labels[-len(self.suffix) :])
        )

    @property
    def literal(self) -> str:
        """The stored form of the prefix, up to its first `*`."""
        known = list(self.prefix)
        return pack(known[: known.index(ANY_LABEL)] if ANY_LABEL in known else known)


def wanted(prefix: str, suffix: str, depth: int | None) -> Wanted:
    """Of a query: labels joined by `/`, as they are stored."""
    return Wanted(labels_of(prefix) if prefix else (), labels_of(suffix) if suffix else (), depth)


def list_namespaces(
    *, caller: Caller, project_id: uuid.UUID, which: Wanted | None = None, after: str = "", limit: int = MOST
) -> list[dict[str, Any]]:
    """The namespaces in the order of their stored forms, each with its number of keys and its bytes; cut ones count all that is
    beneath them. One more than `limit` if there are more."""
    get_project(caller=caller, project_id=project_id)
    which = which or Wanted()
    counted: dict[str, list[int]] = {}
    for namespace, count, size_bytes in [*_stored(project_id, which.literal), *_generated(project_id)]:
        labels = labels_of(namespace)
        if which.matches(labels):
            cut = namespace if which.depth is None else pack(labels[: which.depth])
            so_far = counted.setdefault(cut, [0, 0])
            so_far[0], so_far[1] = so_far[0] + count, so_far[1] + size_bytes
    following = [namespace for namespace in sorted(counted) if namespace > after][: limit + 1]
    return [
        {"namespace": namespace, "count": counted[namespace][0], "size_bytes": counted[namespace][1]} for namespace in following
    ]


def namespace_json(row: dict[str, Any]) -> dict[str, Any]:
    namespace = row["namespace"]
    return {**row, "namespace": as_sent(namespace), "labels": labels_of(namespace)}


def _stored(project_id: uuid.UUID, literal: str) -> list[tuple[str, int, int]]:
    rows = MemoryEntry.objects.live_at(now()).filter(project_id=project_id).alias(bytes=bytewise("namespace"))
    if literal:
        first, end = literal, beneath(literal)[1]
        rows = rows.filter(bytes__gte=first, bytes__lt=end)
    grouped = rows.values("namespace").order_by("namespace").annotate(count=Count("id"), size=Sum("size_bytes"))
    return [(row["namespace"], row["count"], row["size"]) for row in grouped]


def _generated(project_id: uuid.UUID) -> list[tuple[str, int, int]]:
    return [(namespace, 1, 0) for namespace in generated_namespaces(project_id)]


def _equal(pattern: Sequence[str], labels: list[str]) -> bool:
    return len(pattern) == len(labels) and all(
        expected in {ANY_LABEL, label} for expected, label in zip(pattern, labels, strict=True)
    )
