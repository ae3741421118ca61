"""The statements that write entries. Each runs for many entries at once, which are named by project, namespace and key."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from memory_app.core.namespaces import beneath
from sessions_app.core.storage.sql import (
    as_time,
    db_time,
    db_uuid,
    execute_together,
    fetch_row,
    fetch_rows,
    on_postgresql,
    pairs_of,
    table_of,
    works_of,
)
from sessions_app.core.storage.statement_batch import Work

type Place = tuple[str, str]
MICROSECOND = timedelta(microseconds=1)
# A file that was imported may name any time.
MOST_BEHIND = timedelta(days=30)

_ENTRY, _VERSION, _DELETED = "memory_app_memoryentry", "memory_app_memoryversion", "memory_app_deletedentry"
_AT = "project_id = %s AND namespace = %s AND key = %s"
# Rows of a table `given` that has places.
_PLACE, _JOINED = ("text", "text"), "e.project_id = %s AND e.namespace = given.c0 AND e.key = given.c1"
_ID = f"(SELECT id FROM {_ENTRY} WHERE {_AT})"  # noqa: S608 - our own names
COLUMNS = "namespace, key, value, rev, size_bytes, created_at, updated_at, expires_at, ttl_minutes, exact"
READ = f"{COLUMNS}, id"
_ASSIGNED = ", ".join(
    f"{name} = excluded.{name}" for name in ("value", "rev", "size_bytes", "updated_at", "expires_at", "ttl_minutes", "exact")
)
_PUT = f"""INSERT INTO {_ENTRY} (project_id, {COLUMNS}) SELECT * FROM {{given}} WHERE true
ON CONFLICT (project_id, namespace, key) DO UPDATE SET {_ASSIGNED}"""  # noqa: S608
_EXPIRY = ("timestamptz", "double precision")
_PUT_TYPES = ("uuid", "text", "text", "text", "bigint", "int", "timestamptz", "timestamptz", *_EXPIRY, "boolean")
_PUT_AGAIN = f"""UPDATE {_ENTRY} SET value = column1, rev = column2, size_bytes = column3, updated_at = column4, exact = column5
FROM {{given}} WHERE id = column6"""  # noqa: S608
_PUT_AGAIN_TYPES = ("text", "bigint", "int", "timestamptz", "boolean", "bigint")
# SQLite writes the index of expiries whenever an expiry is set, changed or not: without it a row takes two thirds of the time.
_PUT_EXPIRING = _PUT_AGAIN.replace("\nFROM", ",\nexpires_at = column7, ttl_minutes = column8 FROM")
_PUT_EXPIRING_TYPES = (*_PUT_AGAIN_TYPES, *_EXPIRY)
# The new version takes the row of the oldest one, if there are as many as are kept: one change instead of two.
_OLDEST = f"(SELECT id FROM {_VERSION} WHERE entry_id = e.id ORDER BY rev DESC LIMIT 1 OFFSET %s)"  # noqa: S608
_KEEP = f"""INSERT INTO {_VERSION} (id, entry_id, value, rev, size_bytes, saved_at, "by", exact)
SELECT {{row}}, e.id, e.value, e.rev, e.size_bytes, e.updated_at, %s, e.exact
FROM {{given}} CROSS JOIN {_ENTRY} e WHERE {{joined}} ON CONFLICT (id) DO UPDATE SET value = excluded.value, rev = excluded.rev,
size_bytes = excluded.size_bytes, saved_at = excluded.saved_at, "by" = excluded."by", exact = excluded.exact"""  # noqa: S608
_TRIM_AGAIN = f"""DELETE FROM {_VERSION} WHERE entry_id = %s AND rev <= (
SELECT rev FROM {_VERSION} WHERE entry_id = %s ORDER BY rev DESC LIMIT 1 OFFSET %s)"""  # noqa: S608
_KEEP_EARLIER = f"""INSERT INTO {_VERSION} (entry_id, value, rev, size_bytes, saved_at, "by", exact)
VALUES ({_ID}, %s, %s, %s, %s, %s, %s)"""  # noqa: S608
_TRIM = f"""DELETE FROM {_VERSION} WHERE entry_id = {_ID} AND rev <= (
SELECT rev FROM {_VERSION} WHERE entry_id = {_ID} ORDER BY rev DESC LIMIT 1 OFFSET %s)"""  # noqa: S608
_TOUCH = f"UPDATE {_ENTRY} SET expires_at = %s WHERE {_AT} AND rev = %s AND ttl_minutes = %s"  # noqa: S608
_SET_EXPIRY = f"UPDATE {_ENTRY} SET expires_at = %s, ttl_minutes = %s WHERE {_AT}"  # noqa: S608
_ERASE = (f"DELETE FROM {_VERSION} WHERE entry_id = {_ID}", f"DELETE FROM {_ENTRY} WHERE {_AT}")  # noqa: S608
_FORGET = (
    f"DELETE FROM {_VERSION} WHERE deleted_id IN (SELECT id FROM {_DELETED} WHERE {_AT})",  # noqa: S608
    f"DELETE FROM {_DELETED} WHERE {_AT}",  # noqa: S608
)
# The present value is no version if versions were not kept when it was stored.
_KEEP_PRESENT = f"""INSERT INTO {_VERSION} (entry_id, value, rev, size_bytes, saved_at, "by", exact)
SELECT id, value, rev, size_bytes, updated_at, '', exact FROM {_ENTRY} e WHERE {_AT}
AND NOT EXISTS (SELECT 1 FROM {_VERSION} v WHERE v.entry_id = e.id AND v.rev = e.rev)"""  # noqa: S608
_TRASH = (
    f'INSERT INTO {_DELETED} (id, project_id, namespace, key, deleted_at, "by") VALUES (%s, %s, %s, %s, %s, %s)',  # noqa: S608
    f"UPDATE {_VERSION} SET deleted_id = %s, entry_id = NULL WHERE entry_id = {_ID}",  # noqa: S608
)
_NEWEST_DELETED = f"SELECT MAX(deleted_at) FROM {_DELETED} WHERE project_id = %s"  # noqa: S608
_TOO_MANY = f"SELECT id FROM {_DELETED} WHERE project_id = %s ORDER BY deleted_at DESC, id LIMIT 1000000 OFFSET %s"  # noqa: S608
_TRIM_TRASH = (
    f"DELETE FROM {_VERSION} WHERE deleted_id IN ({_TOO_MANY})",  # noqa: S608
    f"DELETE FROM {_DELETED} WHERE id IN ({_TOO_MANY})",  # noqa: S608
)
_SET_STORE = "UPDATE memory_app_memorystore SET rev = %s, size_bytes = %s WHERE project_id = %s"


@dataclass(slots=True)
class EntryRow:
    """An entry as the statements here read and write it: hundreds of model instances would take longer than the statements.

    `id`: of a row that was read. A statement finds it faster by that than by its place.
    """

    project_id: uuid.UUID
    namespace: str
    key: str
    value: str
    rev: int
    size_bytes: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    ttl_minutes: float | None = None
    exact: bool = False
    id: int | None = None

    def is_live_at(self, moment: datetime) -> bool:
        return self.expires_at is None or self.expires_at > moment


def read_places(project_id: uuid.UUID, places: Sequence[Place]) -> list[EntryRow]:
    """The rows at these places, expired ones too."""
    own, columns = db_uuid(project_id), _read_columns()
    if len(places) == 1:
        statement = f"SELECT {columns} FROM {_ENTRY} e WHERE e.project_id = %s AND e.namespace = %s AND e.key = %s"  # noqa: S608
        return entries_of(project_id, fetch_rows(statement, [own, *places[0]]))
    given, parameters = pairs_of(places)
    statement = f"SELECT {columns} FROM {given} CROSS JOIN {_ENTRY} e WHERE {_JOINED}"  # noqa: S608
    return entries_of(project_id, fetch_rows(statement, [*parameters, own]))


@cache
def _read_columns() -> str:
    """SQLite's driver converts the values of columns, but not those of expressions: it takes longer than `entries_of` does."""
    names = [f"e.{name.strip()}" for name in READ.split(",")]
    if on_postgresql():
        return ", ".join(names)
    return ", ".join(f"CAST({name} AS TEXT)" if name.endswith("_at") else f"+{name}" for name in names)


def entries_of(project_id: uuid.UUID, rows: Iterable[Sequence[Any]]) -> list[EntryRow]:
    """Entries of the columns in `READ`."""
    time = cache(as_time)  # Rows that were written together share most of their times.
    return [
        EntryRow(project_id, namespace, key, value, rev, size, time(made), time(changed), time(expires), ttl, bool(exact), row_id)
        for namespace, key, value, rev, size, made, changed, expires, ttl, exact, row_id in rows
    ]


def at(entry: EntryRow) -> list[Any]:
    return [db_uuid(entry.project_id), entry.namespace, entry.key]


def put(rows: Iterable[tuple[EntryRow, bool]]) -> list[Work]:
    """Each row is given with whether the expiry of a row that was read changes."""
    time = cache(db_time)  # Rows that are written together share most of their times.
    new, again, expiring = list[Sequence[Any]](), list[Sequence[Any]](), list[Sequence[Any]]()
    for row, expires in rows:
        value = (row.value, row.rev, row.size_bytes)
        if row.id is None:
            new.append((*at(row), *value, time(row.created_at), time(row.updated_at), *_expiry(row), row.exact))
        elif (
            expires or on_postgresql()
        ):  # There an index is only written for what has changed, and one statement is prepared once.
            expiring.append((*value, time(row.updated_at), row.exact, row.id, *_expiry(row)))
        else:
            again.append((*value, time(row.updated_at), row.exact, row.id))
    return [
        *works_of(_PUT, _PUT_TYPES, new),
        *works_of(_PUT_AGAIN, _PUT_AGAIN_TYPES, again),
        *works_of(_PUT_EXPIRING, _PUT_EXPIRING_TYPES, expiring),
    ]


def _expiry(row: EntryRow) -> tuple[Any, float | None]:
    return None if row.expires_at is None else db_time(row.expires_at), row.ttl_minutes


def keep_versions(rows: Sequence[tuple[EntryRow, int]], by: str) -> list[Work]:
    """The stored value of each row as a version, copied by the database: one statement for all rows of which as many are kept.
    A row that was read has so many afterwards, unless it had more before."""
    own = [db_uuid(rows[0][0].project_id)]
    new, again = defaultdict[int, list[Place]](list), defaultdict[int, list[tuple[int]]](list)
    for row, kept in rows:
        if row.id is None:
            new[kept].append((row.namespace, row.key))
        else:
            again[kept].append((row.id,))
    works = []
    for joined, types, rest, by_kept in ((_JOINED, _PLACE, own, new), ("e.id = given.c0", ("bigint",), [], again)):
        for kept, some in by_kept.items():
            given, parameters = table_of(types, some)
            works.append(Work(_keep(given, joined), [[kept - 1, by, *parameters, *rest]]))
    return works


@cache
def _keep(given: str, joined: str) -> str:
    """PostgreSQL takes no NULL for a number of its own."""
    following = f"nextval(pg_get_serial_sequence('{_VERSION}', 'id'))"
    row = f"COALESCE({_OLDEST}, {following})" if on_postgresql() else _OLDEST
    return _KEEP.format(row=row, given=given, joined=joined)


def trim_versions(rows: Sequence[tuple[EntryRow, int]]) -> list[Work]:
    """Keeps so many of each row."""
    new = [[*at(row), *at(row), kept] for row, kept in rows if row.id is None]
    return _of_some((_TRIM, new), (_TRIM_AGAIN, [[row.id, row.id, kept] for row, kept in rows if row.id is not None]))


def _of_some(*works: tuple[str, Sequence[Sequence[Any]]]) -> list[Work]:
    return [Work(statement, rows) for statement, rows in works if rows]


def keep_earlier_versions(rows: Sequence[EntryRow], by: str) -> Work:
    """Values that were replaced before they were written."""
    return Work(
        _KEEP_EARLIER, [[*at(row), row.value, row.rev, row.size_bytes, db_time(row.updated_at), by, row.exact] for row in rows]
    )


def touch(rows: Sequence[EntryRow]) -> Work:
    """Moves the expiry of rows that were not written since they were read: the same value again only changes `ttl_minutes`."""
    return Work(_TOUCH, [[db_time(row.expires_at), *at(row), row.rev, row.ttl_minutes] for row in rows if row.expires_at])


def set_expiry(rows: Sequence[EntryRow]) -> Work:
    return Work(
        _SET_EXPIRY, [[None if row.expires_at is None else db_time(row.expires_at), row.ttl_minutes, *at(row)] for row in rows]
    )


def erase(rows: Sequence[Sequence[Any]]) -> list[Work]:
    """Rows with their versions. Each is given as project, namespace and key, in the database's form."""
    return [Work(statement, rows) for statement in _ERASE]


def forget_deleted(rows: Sequence[Sequence[Any]]) -> list[Work]:
    """The same for what is in the trash."""
    return [Work(statement, rows) for statement in _FORGET]


def trash(rows: Sequence[tuple[uuid.UUID, datetime, EntryRow]], *, by: str, kept: int) -> list[Work]:
    """Rows into the trash, which holds the last so many of a project. Each is given with its new id and its time of deletion.
    Where the clock was set back, they are later than what is there: else they would be the first that are erased."""
    ids = [(db_uuid(deleted_id), row) for deleted_id, _, row in rows]
    own = at(rows[0][2])[:1]
    newest = as_time(fetch_row(_NEWEST_DELETED, own)[0])
    behind = timedelta(0) if newest is None else newest - rows[0][1] + MICROSECOND
    later = min(max(timedelta(0), behind), MOST_BEHIND)
    deleted = [[db_uuid(deleted_id), *at(row), db_time(deleted_at + later), by] for deleted_id, deleted_at, row in rows]
    return [
        Work(_KEEP_PRESENT, [at(row) for _, row in ids]),
        Work(_TRASH[0], deleted),
        Work(_TRASH[1], [[deleted_id, *at(row)] for deleted_id, row in ids]),
        Work(_ERASE[1], [at(row) for _, row in ids]),
        *(Work(statement, [[*own, kept]]) for statement in _TRIM_TRASH),
    ]


def set_store(project_id: uuid.UUID, rev: int, size_bytes: int) -> Work:
    return Work(_SET_STORE, [[rev, size_bytes, db_uuid(project_id)]])


def condition(namespace: str, *, deep: bool) -> tuple[str, list[Any]]:
    """SQL for a namespace; `deep`: and all beneath it, and an empty one is all. By bytes, so the index answers it."""
    if not deep:
        return "namespace = %s", [namespace]
    if not namespace:
        return "1 = 1", []
    name = column_sql("namespace")
    first, end = beneath(namespace)
    # One range of the index, in its order. Others are in between: `a-b` is between `a` and `a/b`.
    return f"{name} >= %s AND {name} < %s AND (namespace = %s OR {name} >= %s)", [namespace, end, namespace, first]


def column_sql(name: str) -> str:
    """The column, compared and ordered by bytes."""
    return f'{name} COLLATE "C"' if on_postgresql() else name


def count_bytes(project_id: uuid.UUID, where: str, parameters: Sequence[Any], *, moment: datetime) -> tuple[int, int]:
    """How many rows there are that have not expired, and the bytes of all, which count until they are erased."""
    live = "COUNT(CASE WHEN expires_at IS NULL OR expires_at > %s THEN 1 END)"
    statement = f"SELECT {live}, SUM(size_bytes) FROM {_ENTRY} WHERE project_id = %s AND {where}"  # noqa: S608 - our own SQL
    count, size_bytes = fetch_row(statement, [db_time(moment), db_uuid(project_id), *parameters])
    return count, int(size_bytes or 0)


def erase_all(project_id: uuid.UUID, where: str, parameters: Sequence[Any]) -> None:
    """Every row that the condition selects, with its versions."""
    chosen = f"project_id = %s AND {where}"
    rows = [[db_uuid(project_id), *parameters]]
    versions = f"DELETE FROM {_VERSION} WHERE entry_id IN (SELECT id FROM {_ENTRY} WHERE {chosen})"  # noqa: S608 - our own SQL
    execute_together([Work(versions, rows), Work(f"DELETE FROM {_ENTRY} WHERE {chosen}", rows)])  # noqa: S608


def forget_all(project_id: uuid.UUID, where: str, parameters: Sequence[Any]) -> None:
    """The same for what is in the trash."""
    chosen = f"project_id = %s AND {where}"
    rows = [[db_uuid(project_id), *parameters]]
    versions = f"DELETE FROM {_VERSION} WHERE deleted_id IN (SELECT id FROM {_DELETED} WHERE {chosen})"  # noqa: S608 - our own SQL
    execute_together([Work(versions, rows), Work(f"DELETE FROM {_DELETED} WHERE {chosen}", rows)])  # noqa: S608
