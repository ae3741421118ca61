"""What hand-written SQL needs to speak to both databases: a cursor, values as each stores them, times as the API writes them."""

import json
import threading
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.utils import CursorWrapper


def execute(statement: str, parameters: Sequence[Any] = ()) -> None:
    _cursor().execute(statement, parameters)


def execute_many(statement: str, many_parameters: Sequence[Sequence[Any]]) -> None:
    _cursor().executemany(statement, many_parameters)


def fetch_rows(statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
    """For a few: on PostgreSQL what was found stays in memory until the next statement."""
    cursor = _cursor()
    cursor.execute(statement, parameters)
    return list(cursor.fetchall())


def fetch_row(statement: str, parameters: Sequence[Any] = ()) -> Any:
    """The only row, or None."""
    found = fetch_rows(statement, parameters)
    return found[0] if found else None


class _Kept(threading.local):
    cursor: CursorWrapper | None = None


_kept = _Kept()


def _cursor() -> CursorWrapper:
    """One a connection, opened once: to open one takes longer than most statements do. What it finds is read at once."""
    cursor = _kept.cursor
    if cursor is not None and cursor.connection is cursor.db.connection and not cursor.db.queries_logged:
        return cursor
    database = connections[DEFAULT_DB_ALIAS]
    if database.queries_logged:
        return database.cursor()
    cursor = _kept.cursor = database.cursor()
    return cursor


@cache
def on_postgresql() -> bool:
    return connection.vendor == "postgresql"


def db_uuid(value: uuid.UUID) -> Any:
    """PostgreSQL has a type for it, SQLite keeps 32 hexadecimal digits."""
    return value if on_postgresql() else value.hex


def json_value(value: Any) -> Any:
    """A JSONField's value out of a plain cursor, which on both databases answers its text."""
    return json.loads(value) if isinstance(value, str) else value


def db_time(value: datetime) -> Any:
    """As Django stores it: SQLite keeps UTC as text."""
    return value if on_postgresql() else str(value.astimezone(UTC).replace(tzinfo=None))


def rfc3339(value: datetime) -> str:
    """UTC with milliseconds: `2026-11-21T09:30:00.000Z`."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def rfc3339_sql(column: str) -> str:
    """An SQL expression that answers what `rfc3339` does (NULL stays NULL). Percent signs are doubled for parameters."""
    if on_postgresql():
        return f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""
    # Not strftime: it rounds, and 59.9996 would read as 60.000.
    return f"(replace(substr({column}, 1, 19), ' ', 'T') || '.' || substr(substr({column}, 21) || '000', 1, 3) || 'Z')"


def raw_time_sql(column: str) -> str:
    """For rows by the hundred: an expression whose value `as_rfc3339` turns into what the API writes."""
    return rfc3339_sql(column) if on_postgresql() else f"CAST({column} AS TEXT)"


def as_rfc3339(value: str) -> str:
    """A value of `raw_time_sql`; SQLite's has a space where the API has a T, and leaves out a fraction of zero."""
    if value[10] == "T":
        return value
    return f"{value[:10]}T{value[11:19]}{value[19:23] or '.000'}Z"


def now() -> datetime:
    """The present with milliseconds: what is stored equals what is answered."""
    present = datetime.now(UTC)
    return present.replace(microsecond=present.microsecond // 1000 * 1000)
