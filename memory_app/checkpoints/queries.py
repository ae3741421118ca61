"""Reading threads and checkpoints. Each read sees one moment, and takes the same number of statements whatever is stored."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memory_app.checkpoints import rows
from memory_app.checkpoints.rows import Place, Typed
from memory_app.key_value.batches.filters import Filter
from sessions_app.core.errors import NotFound
from sessions_app.core.public_names import Caller, db_uuid
from sessions_app.core.serialization.stored_json import read_object
from sessions_app.core.storage.snapshot_reads import one_moment
from sessions_app.core.storage.sql import as_rfc3339, fetch_rows, raw_time_sql
from sessions_app.projects.queries import check_project

# Of one page: stored bytes, before base64. One checkpoint is always in it.
PAGE_BYTES = 50_000_000
# A filter looks at the metadata of so many checkpoints for a page.
FILTERED = 1_000


class CheckpointNotFound(NotFound):
    kind, message = "checkpoint", "This thread has no such checkpoint. List its checkpoints."


@dataclass(frozen=True, slots=True)
class Wanted:
    """`ns`: of this namespace only. `before`: with lower ids only. `after`: the last place of the page before."""

    ns: str | None = None
    before: str = ""
    after: Place | None = None
    limit: int = 20
    sought: Filter | None = None


class _Head(NamedTuple):
    """A checkpoint without its data. `versions`: None, if they are long and were not read yet. `size_bytes`: with values and
    writes."""

    thread_id: int
    ns: str
    id: str
    parent: str
    created_at: str
    metadata: str
    versions: str | None
    size_bytes: int

    @property
    def place(self) -> Place:
        return self.ns, self.id


class Write(NamedTuple):
    """What a task wrote after a checkpoint."""

    task: str
    path: str
    idx: int
    channel: str
    typed: Typed


class Found(NamedTuple):
    """A checkpoint. `metadata` and `versions`: as stored, JSON."""

    ns: str
    id: str
    parent: str | None
    created_at: str
    typed: Typed
    metadata: str
    versions: str
    writes: list[Write]


class Value(NamedTuple):
    """Of a channel. It is stored once for all checkpoints that have this version."""

    ns: str
    channel: str
    version: str
    typed: Typed


def read_checkpoint(*, caller: Caller, project_id: uuid.UUID, thread: str, place: Place) -> tuple[Found, list[Value]]:
    """A checkpoint, and the values that it refers to. Raises CheckpointNotFound."""
    with one_moment():
        check_project(caller=caller, project_id=project_id)
        heads = _heads(project_id, thread, "c.ns = %s AND c.checkpoint_id = %s", place, 1)
        if not heads:
            raise CheckpointNotFound
        items, values = _with_parts(heads)
    return items[0], values


def list_checkpoints(
    *, caller: Caller, project_id: uuid.UUID, thread: str, wanted: Wanted
) -> tuple[list[Found], list[Value], Place | None]:
    """The newest first, by id; the values that they refer to, each once; and after which place the next page begins."""
    with one_moment():
        check_project(caller=caller, project_id=project_id)
        where, parameters = _conditions(wanted)
        looked_at = wanted.limit + 1 if wanted.sought is None else FILTERED
        heads = _heads(project_id, thread, where, parameters, looked_at)
        chosen = [head for head in heads if wanted.sought is None or _matches(wanted.sought, head.metadata)]
        page = _bounded(chosen[: wanted.limit])
        items, values = _with_parts(page) if page else ([], [])
    if len(page) < len(chosen):
        return items, values, page[-1].place
    return items, values, heads[-1].place if len(heads) == looked_at else None


def _matches(sought: Filter, metadata: str) -> bool:
    try:
        return sought.matches(sought.read(metadata))
    except ValueError:  # Damaged metadata have no fields.
        return sought.matches({})


def _conditions(wanted: Wanted) -> tuple[str, list[Any]]:
    conditions, parameters = ["1 = 1"], list[Any]()
    if wanted.ns is not None:
        conditions, parameters = ["c.ns = %s"], [wanted.ns]
    if wanted.before:
        conditions.append("c.checkpoint_id < %s")
        parameters.append(wanted.before)
    if wanted.after is not None:
        conditions.append("(c.checkpoint_id, c.ns) < (%s, %s)")
        parameters += [wanted.after[1], wanted.after[0]]
    return " AND ".join(conditions), parameters


def _heads(project_id: uuid.UUID, thread: str, where: str, parameters: Sequence[Any], limit: int) -> list[_Head]:
    versions = f"CASE WHEN LENGTH(c.versions) <= {rows.LONG_VERSIONS} THEN c.versions END"
    statement = f"""SELECT c.thread_id, c.ns, c.checkpoint_id, c.parent_id, {raw_time_sql("c.created_at")}, c.metadata,
{versions}, c.state_bytes + (SELECT COALESCE(SUM(w.size_bytes), 0) FROM memory_app_pendingwrite w
WHERE w.thread_id = c.thread_id AND w.ns = c.ns AND w.checkpoint_id = c.checkpoint_id)
FROM memory_app_graphthread t JOIN memory_app_checkpoint c ON c.thread_id = t.id
WHERE t.project_id = %s AND t.name = %s AND {where} ORDER BY c.checkpoint_id DESC, c.ns DESC LIMIT %s"""  # noqa: S608 - our own names
    return [_Head(*row) for row in fetch_rows(statement, [db_uuid(project_id), thread, *parameters, limit])]


def _bounded(heads: list[_Head]) -> list[_Head]:
    """As many as a page may have bytes, and at least one."""
    total = 0
    for number, head in enumerate(heads):
        total += head.size_bytes
        if number and total > PAGE_BYTES:
            return heads[:number]
    return heads


def _with_parts(heads: Sequence[_Head]) -> tuple[list[Found], list[Value]]:
    """The checkpoints with their writes, and the values that they refer to."""
    if late := [head.place for head in heads if head.versions is None]:
        long = rows.read_versions(heads[0].thread_id, late)
        heads = [head if head.versions is not None else head._replace(versions=long[head.place]) for head in heads]
    by_head = [(head.ns, read_object(head.versions or "") or {}) for head in heads]
    versions = {(ns, channel, version) for ns, by_channel in by_head for channel, version in by_channel.items()}
    data, written, values = rows.read_parts(heads[0].thread_id, [head.place for head in heads], sorted(versions))
    writes: dict[Place, list[Write]] = {}
    # By path, task and number, as the graph applied them.
    for ns, checkpoint_id, path, task, idx, channel, *typed in sorted(written, key=lambda row: row[:5]):
        writes.setdefault((ns, checkpoint_id), []).append(Write(task, path, idx, channel, Typed(*typed)))
    by_place = {(ns, checkpoint_id): Typed(name, content) for ns, checkpoint_id, name, content in data}
    found = [_found(head, by_place[head.place], writes.get(head.place, [])) for head in heads]
    values = sorted(values, key=lambda row: row[:3])  # Whatever plan the database chose.
    return found, [Value(ns, channel, version, Typed(*typed)) for ns, channel, version, *typed in values]


def _found(head: _Head, typed: Typed, writes: list[Write]) -> Found:
    created_at = as_rfc3339(head.created_at)
    return Found(head.ns, head.id, head.parent or None, created_at, typed, head.metadata, head.versions or "", writes)
