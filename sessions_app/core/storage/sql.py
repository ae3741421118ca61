"""Helpers for hand-written SQL on both databases: a cursor, values as each stores them, times as the API writes them."""

import json
import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import chain
from typing import Any

import orjson
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from sessions_app.core.storage.direct_cursor import DirectCursor
from sessions_app.core.storage.statement_batch import Work, current_batch

# Of one run of a statement (`works_of`): with more of them it is hardly quicker.
_MOST_ROWS = 32


def execute(statement: str, parameters: Sequence[Any] = ()) -> None:
    _cursor().execute(statement, parameters)


def write_later(statement: str, many_parameters: Sequence[Sequence[Any]]) -> None:
    """For writes whose result is not needed: queued in the current batch if there is one, else run at once."""
    if (batch := current_batch()) is not None:
        batch.write_later(statement, many_parameters)
    else:
        _cursor().executemany(statement, many_parameters)


def fetch_rows(statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
    """For few rows: on PostgreSQL the result stays in memory until the next statement."""
    if (batch := current_batch()) is not None and (ahead := batch.rows(statement, parameters)) is not None:
        return ahead
    cursor = _cursor()
    cursor.execute(statement, parameters)
    return list(cursor.fetchall())


def fetch_row(statement: str, parameters: Sequence[Any] = ()) -> Any:
    """The only row, or None."""
    found = fetch_rows(statement, parameters)
    return found[0] if found else None


def fetch_together(queries: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Any]]:
    """The rows of each query; on PostgreSQL in one round trip, in which each query sees what was committed before it ran."""
    if not on_postgresql():
        return [fetch_rows(statement, parameters) for statement, parameters in queries]
    with _pipeline() as open_cursor:
        cursors = [open_cursor() for _ in queries]
        for cursor, (statement, parameters) in zip(cursors, queries, strict=True):
            cursor.execute(statement, parameters)
        return [cursor.fetchall() for cursor in cursors]


def execute_together(works: Sequence[Work]) -> None:
    """Run each statement with all of its parameters; on PostgreSQL in one round trip."""
    if not works:
        return
    if not on_postgresql():
        for statement, many_parameters in works:
            _cursor().executemany(statement, many_parameters)
        return
    with _pipeline() as open_cursor:
        for statement, many_parameters in works:
            open_cursor().executemany(statement, many_parameters)


@contextmanager
def _pipeline() -> Iterator[Callable[[], Any]]:
    """PostgreSQL's connection in pipeline mode; yields a function that opens a cursor on it."""
    connection.ensure_connection()
    with connection.wrap_database_errors, connection.connection.pipeline():
        yield lambda: _prepares(connections[DEFAULT_DB_ALIAS])


def table_of(types: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
    """These rows as a table `given` with the columns c0, c1, … for a FROM, and its parameters.

    The text is the same for any number of rows, so it is prepared once.
    """
    columns = [f"c{number}" for number in range(len(types))]
    if on_postgresql():
        arrays = ", ".join(f"%s::{type}[]" for type in types)
        return f"unnest({arrays}) AS given({', '.join(columns)})", [list(column) for column in zip(*rows, strict=True)]
    if len(types) == 1:
        return "(SELECT value AS c0 FROM json_each(%s)) AS given", [orjson.dumps([only for [only] in rows]).decode()]
    values = ", ".join(f"value ->> {number} AS {column}" for number, column in enumerate(columns))
    return f"(SELECT {values} FROM json_each(%s)) AS given", [orjson.dumps(rows).decode()]  # noqa: S608 - our own names


def pairs_of(pairs: Iterable[tuple[str, str]]) -> tuple[str, list[Any]]:
    """The same for pairs of texts, in any order: SQLite reads those that begin alike together, in less than half the time."""
    if on_postgresql():
        return table_of(("text", "text"), list(pairs))
    grouped = defaultdict[str, list[str]](list)
    for first, second in pairs:
        grouped[first].append(second)
    nested = "json_each(%s) AS first CROSS JOIN json_each(first.value) AS second"
    return f"(SELECT first.key AS c0, second.value AS c1 FROM {nested}) AS given", [orjson.dumps(grouped).decode()]  # noqa: S608


def works_of(statement: str, types: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[Work]:
    """A statement for many rows, which it reads from `{given}`, a table with the columns column1, column2, …

    The rows are bound one value at a time, so a long text is not copied into an array or JSON. A run takes a power of two of
    them, up to `_MOST_ROWS`, so that few texts are prepared.
    """
    works, start, size = list[Work](), 0, _MOST_ROWS
    while start < len(rows):
        while size > len(rows) - start:
            size //= 2
        end = len(rows) - (len(rows) - start) % size
        bound = [_bound(rows[first : first + size]) for first in range(start, end, size)]
        works.append(Work(statement.format(given=_values(tuple(types), size)), bound))
        start = end
    return works


def _bound(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """PostgreSQL gets texts and casts them: small and large numbers have types of their own, and with each other mixture of
    types the statement would be prepared again."""
    values = chain.from_iterable(rows)
    return [value if value is None else str(value) for value in values] if on_postgresql() else list(values)


@cache
def _values(types: tuple[str, ...], size: int) -> str:
    """SQLite asks for no types: the columns that take the values have them."""
    row = ", ".join(f"%s::{type}" if on_postgresql() else "%s" for type in types)
    return f"(VALUES {', '.join([f'({row})'] * size)}) AS given"


class _Kept(threading.local):
    cursor: CursorWrapper | None = None


_kept = _Kept()


def _cursor() -> CursorWrapper:
    """The connection's shared cursor, opened once: opening one takes longer than most statements. Read its results at once."""
    cursor = _kept.cursor
    # With `settings.DEBUG` none is kept.
    if cursor is not None and cursor.cursor.connection is cursor.db.connection and not cursor.db.force_debug_cursor:
        return cursor
    cursor = fresh_cursor()
    if not cursor.db.queries_logged:
        _kept.cursor = cursor
    return cursor


def fresh_cursor() -> CursorWrapper:
    """For hundreds of rows: once closed, it keeps none of them in memory."""
    database = connections[DEFAULT_DB_ALIAS]
    if not on_postgresql():
        return database.cursor()
    cursor = _prepares(database)
    return database.make_debug_cursor(cursor) if database.queries_logged else DirectCursor(cursor, database)


def _prepares(database: BaseDatabaseWrapper) -> Any:
    """psycopg's own cursor: it prepares statements, where Django's let PostgreSQL parse and plan each one again."""
    from django.db.backends.postgresql import base

    database.ensure_connection()
    cursor_class: Any = base.ServerBindingCursor
    return cursor_class(database.connection)


@cache
def on_postgresql() -> bool:
    return connection.vendor == "postgresql"


def db_uuid(value: uuid.UUID) -> Any:
    """PostgreSQL has a type for it, SQLite keeps 32 hexadecimal digits."""
    return value if on_postgresql() else value.hex


def as_uuid(value: Any) -> Any:
    """SQLite returns hexadecimal text where PostgreSQL returns a UUID."""
    return uuid.UUID(value) if isinstance(value, str) else value


def json_value(value: Any) -> Any:
    """A JSONField's value from a plain cursor, which returns its text on both databases."""
    return json.loads(value) if isinstance(value, str) else value


def db_time(value: datetime) -> Any:
    """As Django stores it: SQLite keeps UTC as text."""
    if on_postgresql():
        return value
    return (value if value.tzinfo is UTC else value.astimezone(UTC)).isoformat(" ")[: -len("+00:00")]


def as_time(value: Any) -> Any:
    """A time as a plain cursor returns it: on SQLite as text, or in UTC without saying so."""
    if value is None:
        return None
    return _time_of_text(value) if isinstance(value, str) else _with_zone(value)


@lru_cache(maxsize=1_000)  # Rows that were written together have the same times.
def _time_of_text(text: str) -> datetime:
    return _with_zone(datetime.fromisoformat(text))


def _with_zone(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def rfc3339(value: datetime) -> str:
    """UTC with milliseconds: `2026-11-21T09:30:00.000Z`."""
    return (value if value.tzinfo is UTC else value.astimezone(UTC)).isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"


def rfc3339_sql(column: str) -> str:
    """An SQL expression that formats as `rfc3339` does (NULL stays NULL). Percent signs are doubled for parameters."""
    if on_postgresql():
        return f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""
    # Not strftime: it rounds, and 59.9996 would read as 60.000.
    return f"(replace(substr({column}, 1, 19), ' ', 'T') || '.' || substr(substr({column}, 21) || '000', 1, 3) || 'Z')"


def raw_time_sql(column: str) -> str:
    """For hundreds of rows: an expression whose value `as_rfc3339` converts to the API's format."""
    return rfc3339_sql(column) if on_postgresql() else f"CAST({column} AS TEXT)"


def as_rfc3339(value: str) -> str:
    """A value of `raw_time_sql`; SQLite's has a space where the API has a T, and leaves out a fraction of zero."""
    if value[10] == "T":
        return value
    return f"{value[:10]}T{value[11:19]}{value[19:23] or '.000'}Z"
