"""The statements of threads and checkpoints. None depends on how much is stored."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sessions_app.core.public_names import db_time, db_uuid
from sessions_app.core.storage.sql import execute_together, fetch_row, fetch_rows, fetch_together, on_postgresql, table_of
from sessions_app.core.storage.statement_batch import Work

# A namespace and a checkpoint's id in it.
type Place = tuple[str, str]
# A namespace, a channel, its version.
type Version = tuple[str, str, str]

THREAD, CHECKPOINT = "memory_app_graphthread", "memory_app_checkpoint"
VALUE, WRITE, STORE = "memory_app_channelvalue", "memory_app_pendingwrite", "memory_app_memorystore"
CHILDREN = (WRITE, CHECKPOINT, VALUE)
_COLUMNS = {
    CHECKPOINT: ("ns, checkpoint_id, parent_id, run_id, created_at, size_bytes, state_bytes, metadata, versions, type, data"),
    VALUE: "ns, channel, version, size_bytes, type, data",
    WRITE: "ns, checkpoint_id, task_id, idx, task_path, channel, size_bytes, type, data",
}
# Counted for every row besides its data and its texts: what the database keeps with it, and an answer writes around it.
ROW_BYTES = 100
# Longer versions are not read with the heads of a list, of which few may be returned.
LONG_VERSIONS = 20_000
_UPDATED = ("parent_id", "run_id", "size_bytes", "state_bytes", "metadata", "versions", "type", "data")
_REPLACED = ("task_path", "channel", "size_bytes", "type", "data")


@dataclass(slots=True)
class Thread:
    id: int
    size_bytes: int


class Stored(NamedTuple):
    """A checkpoint that is there. `created_at`: as the database returns it."""

    size_bytes: int
    created_at: Any
    parent: str
    metadata: str
    versions: str


@dataclass(frozen=True, slots=True)
class Typed:
    """A value as its client serialized it."""

    type: str
    data: bytes


def bytes_of(data: bytes, *texts: str) -> int:
    """What a row counts: its names too, which may be longer than its data."""
    return ROW_BYTES + len(data) + sum(len(text) if text.isascii() else len(text.encode()) for text in texts)


def _insert(table: str, conflict: str) -> str:
    columns = _COLUMNS[table]
    marks = ", ".join(["%s"] * (columns.count(",") + 2))
    return f"INSERT INTO {table} (thread_id, {columns}) VALUES ({marks}) {conflict}"  # noqa: S608 - our own names


def _assigned(names: Sequence[str]) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in names)


_PUT_CHECKPOINT = _insert(CHECKPOINT, f"ON CONFLICT (thread_id, ns, checkpoint_id) DO UPDATE SET {_assigned(_UPDATED)}")
_PUT_VALUE = _insert(VALUE, "ON CONFLICT (thread_id, ns, channel, version) DO NOTHING")
_PUT_WRITE = _insert(WRITE, f"ON CONFLICT (thread_id, ns, checkpoint_id, task_id, idx) DO UPDATE SET {_assigned(_REPLACED)}")
_LOCK = f"SELECT id, size_bytes FROM {THREAD} WHERE project_id = %s AND name = %s"  # noqa: S608
_MAKE = f"""INSERT INTO {THREAD} (project_id, name, size_bytes, created_at, updated_at) VALUES (%s, %s, 0, %s, %s)
ON CONFLICT (project_id, name) DO NOTHING"""  # noqa: S608
_GROWN = f"UPDATE {THREAD} SET size_bytes = size_bytes + %s, updated_at = %s WHERE id = %s"  # noqa: S608
_STORE_GROWN = f"UPDATE {STORE} SET checkpoint_bytes = checkpoint_bytes + %s WHERE project_id = %s RETURNING checkpoint_bytes"  # noqa: S608


def lock_thread(project_id: uuid.UUID, name: str) -> Thread | None:
    """The thread, locked until the commit."""
    found = fetch_row(_LOCK + (" FOR UPDATE" if on_postgresql() else ""), [db_uuid(project_id), name])
    return None if found is None else Thread(*found)


def make_thread(project_id: uuid.UUID, name: str, moment: datetime) -> None:
    """Nothing, if it exists."""
    execute_together([Work(_MAKE, [[db_uuid(project_id), name, db_time(moment), db_time(moment)]])])


def find_versions(thread: Thread, versions: Sequence[Version]) -> dict[Version, int]:
    """Those that are stored, with their bytes."""
    if not versions:
        return {}
    given, parameters = table_of(["text", "text", "text"], versions)
    statement = f"""SELECT v.ns, v.channel, v.version, v.size_bytes FROM {given} CROSS JOIN {VALUE} v
WHERE v.thread_id = %s AND v.ns = given.c0 AND v.channel = given.c1 AND v.version = given.c2"""  # noqa: S608 - our own names
    return {(ns, channel, version): size for ns, channel, version, size in fetch_rows(statement, [*parameters, thread.id])}


def find_checkpoint(thread: Thread, place: Place) -> Stored | None:
    statement = f"""SELECT size_bytes, created_at, parent_id, metadata, versions FROM {CHECKPOINT}
WHERE thread_id = %s AND ns = %s AND checkpoint_id = %s"""  # noqa: S608 - our own names
    found = fetch_row(statement, [thread.id, *place])
    return None if found is None else Stored(*found)


def find_writes(thread: Thread, place: Place, task_id: str) -> dict[int, int]:
    """The numbers of a task's writes that are stored, with their bytes."""
    statement = f"SELECT idx, size_bytes FROM {WRITE} WHERE thread_id = %s AND ns = %s AND checkpoint_id = %s AND task_id = %s"  # noqa: S608
    return dict(fetch_rows(statement, [thread.id, *place, task_id]))


def read_values(thread_id: int, versions: Sequence[Version]) -> list[Any]:
    """Rows of ns, channel, version, type and data."""
    return fetch_rows(*_values_query(thread_id, versions)) if versions else []


def read_parts(thread_id: int, places: Sequence[Place], versions: Sequence[Version]) -> tuple[list[Any], list[Any], list[Any]]:
    """Of these checkpoints: rows of ns, checkpoint_id, type and data; their writes as rows of ns, checkpoint_id, task_path,
    task_id, idx, channel, type and data; and values as `read_values` returns them."""
    given, parameters = table_of(["text", "text"], places)
    at = "{0}.thread_id = %s AND {0}.ns = given.c0 AND {0}.checkpoint_id = given.c1"
    data = f"SELECT c.ns, c.checkpoint_id, c.type, c.data FROM {given} CROSS JOIN {CHECKPOINT} c WHERE {at.format('c')}"  # noqa: S608
    writes = f"""SELECT w.ns, w.checkpoint_id, w.task_path, w.task_id, w.idx, w.channel, w.type, w.data
FROM {given} CROSS JOIN {WRITE} w WHERE {at.format("w")}"""  # noqa: S608
    asked = [(statement, [*parameters, thread_id]) for statement in (data, writes)]
    found = fetch_together([*asked, *([_values_query(thread_id, versions)] if versions else [])])
    return found[0], found[1], found[2] if versions else []


def read_versions(thread_id: int, places: Sequence[Place]) -> dict[Place, str]:
    given, parameters = table_of(["text", "text"], places)
    statement = f"""SELECT c.ns, c.checkpoint_id, c.versions FROM {given} CROSS JOIN {CHECKPOINT} c
WHERE c.thread_id = %s AND c.ns = given.c0 AND c.checkpoint_id = given.c1"""  # noqa: S608 - our own names
    return {(ns, checkpoint_id): versions for ns, checkpoint_id, versions in fetch_rows(statement, [*parameters, thread_id])}


def _values_query(thread_id: int, versions: Sequence[Version]) -> tuple[str, list[Any]]:
    given, parameters = table_of(["text", "text", "text"], versions)
    statement = f"""SELECT v.ns, v.channel, v.version, v.type, v.data FROM {given} CROSS JOIN {VALUE} v
WHERE v.thread_id = %s AND v.ns = given.c0 AND v.channel = given.c1 AND v.version = given.c2"""  # noqa: S608
    return statement, [*parameters, thread_id]


def erase_row(thread: Thread, place: Place) -> Work:
    """Of a checkpoint that is put again, changed: it gets a row with a higher id. By that others see that it changed."""
    return Work(f"DELETE FROM {CHECKPOINT} WHERE thread_id = %s AND ns = %s AND checkpoint_id = %s", [[thread.id, *place]])  # noqa: S608


def put_checkpoint(thread: Thread, row: Sequence[Any]) -> Work:
    return Work(_PUT_CHECKPOINT, [[thread.id, *row]])


def put_values(thread: Thread, rows: Iterable[tuple[Version, Typed]]) -> Work:
    given = [[thread.id, *version, value_bytes(version, typed), typed.type, typed.data] for version, typed in rows]
    return Work(_PUT_VALUE, given)


def value_bytes(version: Version, typed: Typed) -> int:
    return bytes_of(typed.data, *version, typed.type)


def sum_writes(thread: Thread, place: Place) -> int:
    """The bytes of what all tasks wrote after a checkpoint."""
    statement = f"SELECT COALESCE(SUM(size_bytes), 0) FROM {WRITE} WHERE thread_id = %s AND ns = %s AND checkpoint_id = %s"  # noqa: S608
    return int(fetch_row(statement, [thread.id, *place])[0])


def put_writes(thread: Thread, rows: Iterable[Sequence[Any]]) -> Work:
    return Work(_PUT_WRITE, [[thread.id, *row] for row in rows])


def grow_thread(thread: Thread, growth: int, moment: datetime) -> Work:
    return Work(_GROWN, [[growth, db_time(moment), thread.id]])


def grow_store(project_id: uuid.UUID, growth: int) -> tuple[str, list[Any]]:
    """A statement that returns the bytes of all the project's threads; no row, if the project has no memory yet."""
    return _STORE_GROWN, [growth, db_uuid(project_id)]


def is_empty(thread: Thread) -> bool:
    """It has no rows."""
    parts = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE thread_id = %s)" for table in CHILDREN)  # noqa: S608
    return not fetch_row(f"SELECT {parts}", [thread.id] * len(CHILDREN))[0]


def places_after(thread: Thread, after: Place, most: int) -> list[Place]:
    """Of so many checkpoints, the oldest first, behind a place."""
    statement = f"""SELECT ns, checkpoint_id FROM {CHECKPOINT} WHERE thread_id = %s AND (checkpoint_id, ns) > (%s, %s)
ORDER BY checkpoint_id, ns LIMIT %s"""  # noqa: S608 - our own names
    return [(ns, checkpoint_id) for ns, checkpoint_id in fetch_rows(statement, [thread.id, after[1], after[0], most])]


def copy_checkpoints(source: Thread, target: Thread, places: Sequence[Place]) -> int:
    """With their writes, and with the values that the target does not have yet. Returns the bytes of what was copied."""
    if not places:
        return 0
    given, parameters = table_of(["text", "text"], places)
    # CROSS JOIN: SQLite keeps this order, and finds each row by its names.
    from_each = f"FROM {given} CROSS JOIN"
    values = f"""INSERT INTO {VALUE} (thread_id, {_COLUMNS[VALUE]}) SELECT %s, {_named("v", VALUE)} {from_each} {CHECKPOINT} c
CROSS JOIN {each_version()} u CROSS JOIN {VALUE} v WHERE c.thread_id = %s AND c.ns = given.c0 AND c.checkpoint_id = given.c1
AND v.thread_id = c.thread_id AND v.ns = c.ns AND v.channel = u.key AND v.version = u.value
ON CONFLICT (thread_id, ns, channel, version) DO NOTHING RETURNING size_bytes"""
    at = "o.thread_id = %s AND o.ns = given.c0 AND o.checkpoint_id = given.c1"
    others = [_copied(table, f"{from_each} {table} o WHERE {at}") for table in (WRITE, CHECKPOINT)]
    asked = [target.id, *parameters, source.id]
    return _sum_of(fetch_together([(statement, asked) for statement in (values, *others)]))


def copy_other_writes(source: Thread, target: Thread) -> int:
    """Those whose checkpoint is not stored yet. Returns their bytes."""
    return _sum_of([fetch_rows(_copied(WRITE, f"FROM {WRITE} o WHERE o.thread_id = %s"), [target.id, source.id])])


def _copied(table: str, rest: str) -> str:
    taken = f"SELECT %s, {_named('o', table)} {rest}"
    return f"INSERT INTO {table} (thread_id, {_COLUMNS[table]}) {taken} ON CONFLICT DO NOTHING RETURNING size_bytes"


def _named(table: str, columns_of: str) -> str:
    return ", ".join(f"{table}.{name.strip()}" for name in _COLUMNS[columns_of].split(","))


def _sum_of(sizes: Iterable[Iterable[tuple[int]]]) -> int:
    return sum(size for rows in sizes for (size,) in rows)


def each_version() -> str:
    """The channels and versions of a checkpoint `c`, for a FROM: columns `key` and `value`."""
    return "json_each_text(c.versions::json)" if on_postgresql() else "json_each(c.versions)"


def settle_sizes(project_id: uuid.UUID) -> int:
    """Counts the bytes of a project's checkpoints and threads from their rows; returns the sum."""
    parts = " + ".join(f"(SELECT COALESCE(SUM(size_bytes), 0) FROM {table} WHERE thread_id = t.id)" for table in CHILDREN)  # noqa: S608
    values = f"""SELECT COALESCE(SUM(v.size_bytes), 0) FROM {each_version()} u JOIN {VALUE} v
ON v.thread_id = c.thread_id AND v.ns = c.ns AND v.channel = u.key AND v.version = u.value"""  # noqa: S608 - our own names
    theirs = f"SELECT id FROM {THREAD} WHERE project_id = %s"  # noqa: S608
    own = [[db_uuid(project_id)]]
    states = f"UPDATE {CHECKPOINT} AS c SET state_bytes = c.size_bytes + ({values}) WHERE c.thread_id IN ({theirs})"  # noqa: S608
    sizes = f"UPDATE {THREAD} AS t SET size_bytes = {parts} WHERE t.project_id = %s"  # noqa: S608
    execute_together([Work(states, own), Work(sizes, own)])
    total = fetch_row(f"SELECT COALESCE(SUM(size_bytes), 0) FROM {THREAD} WHERE project_id = %s", own[0])  # noqa: S608
    return int(total[0])
