"""Reading messages. Hand-written SQL and plain tuples on purpose: these reads are the product's hot path.

A session's live window is its newest messages, at most `WINDOW_MESSAGES` of them and `WINDOW_BYTES` together (always
at least the newest one). Every read is by index and bounded, so it costs the same in a long session as in a short one.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
from django.conf import settings
from django.db import DatabaseError

from sessions_app.core.serialization.stored_json import quick_json
from sessions_app.core.storage.sql import (
    as_rfc3339,
    db_uuid,
    fetch_row,
    fetch_rows,
    fresh_cursor,
    on_postgresql,
    raw_time_sql,
    rfc3339,
)
from sessions_app.models.live import Live
from sessions_app.models.message import ROLES, STREAMING_SECONDS, Status
from sessions_app.models.times import now

STATUSES = frozenset(Status.values)
STREAMING, INTERRUPTED = Status.STREAMING.value, Status.INTERRUPTED.value
_REV = "CASE WHEN position <= %s AND rev < %s THEN %s - (%s - position) / %s ELSE rev END AS rev"
_COLUMNS = "message_id, role, text, status, ver, rev, position"
_EXTRAS = "parts, metadata, raw, format, parent_id, flagged, size_bytes"
_EXTRA_NAMES = _EXTRAS.split(", ")[:-1]
TEXT_COLUMNS = frozenset({"format", "parent_id"})
# Without branches every live message is on the path.
ON_PATH = "removed = '' AND aside IS NULL"
ASIDE = "removed = '' AND aside IS NOT NULL"
UNLIMITED = 2**63 - 1
_POSITION = 6
_ROW = f"{_COLUMNS}, created, updated, {_EXTRAS}"


@dataclass(frozen=True, slots=True)
class Page:
    """Messages oldest first, as JSON ready to send, and the damaged rows that were skipped."""

    items: list[dict[str, Any]]
    skipped: list[dict[str, str]]
    more: bool

    @property
    def streaming(self) -> bool:
        """True if one of them is still streaming."""
        return any(item["status"] == STREAMING for item in self.items)


def _select(where: str, order: str) -> str:
    # In a condition, `rev` is the stored one: a table's columns come before those of a SELECT.
    columns = _COLUMNS.replace("rev", _REV)
    created, updated = raw_time_sql("created_at"), raw_time_sql("updated_at")
    return (
        f"SELECT {columns}, {created} AS created, {updated} AS updated, {_EXTRAS} FROM sessions_app_message "  # noqa: S608 - constants only
        f"WHERE session_id = %s AND epoch = %s AND {where} ORDER BY {order} LIMIT %s"
    )


def live_window(*, session_id: uuid.UUID, live: Live) -> Page:
    """The newest messages, within the window's count and size."""
    limit = settings.WINDOW_MESSAGES
    rows = read_rows(_select(ON_PATH, "position DESC"), [*_of(session_id, live), limit + 1])
    kept = fitting_window(rows[:limit])
    return _page(kept[::-1], more=len(rows) > len(kept))


def page_before(*, session_id: uuid.UUID, live: Live, position: int, limit: int, within_bytes: bool = False) -> Page:
    """The `limit` messages before a position; or fewer, so that they are no larger than a window (`within_bytes`)."""
    sql = _select(f"{ON_PATH} AND position < %s", "position DESC")
    rows = read_rows(sql, [*_of(session_id, live), position, limit + 1])
    kept = fitting_window(rows[:limit]) if within_bytes else rows[:limit]
    return _page(kept[::-1], more=len(rows) > len(kept))


def page_after(*, session_id: uuid.UUID, live: Live, position: int, limit: int, within_bytes: bool = False) -> Page:
    """The `limit` messages after a position (0: from the first one); or fewer, as before one."""
    sql = _select(f"{ON_PATH} AND position > %s", "position")
    rows = read_rows(sql, [*_of(session_id, live), position, limit + 1])
    kept = fitting_window(rows[:limit]) if within_bytes else rows[:limit]
    return _page(kept, more=len(rows) > len(kept))


def page_of_all(*, session_id: uuid.UUID, live: Live, before: int, limit: int) -> Page:
    """The `limit` messages before a position, of all branches."""
    key = [*_of(session_id, live), before, limit + 1]
    rows = [
        row
        for place in (ON_PATH, ASIDE)  # Each has an index.
        for row in read_rows(_select(f"{place} AND position < %s", "position DESC"), key)
    ]
    rows.sort(key=lambda row: row[_POSITION], reverse=True)
    return _page(rows[:limit][::-1], more=len(rows) > limit)


def page_after_of_all(*, session_id: uuid.UUID, live: Live, position: int, limit: int) -> Page:
    """The `limit` messages after a position, of all branches."""
    key = [*_of(session_id, live), position, limit + 1]
    rows = [row for place in (ON_PATH, ASIDE) for row in read_rows(_select(f"{place} AND position > %s", "position"), key)]
    rows.sort(key=lambda row: row[_POSITION])
    return _page(rows[:limit], more=len(rows) > limit)


def messages_named(*, session_id: uuid.UUID, live: Live, ids: list[str], within_bytes: bool = False) -> Page:
    """These messages as far as they are live, in order. At most a few hundred; or the last ones, as before a position."""
    if not ids:
        return Page([], [], more=False)
    where = f"removed = '' AND message_id IN ({', '.join(['%s'] * len(ids))})"
    rows = read_rows(_select(where, "position DESC"), [*_of(session_id, live), *ids, len(ids)])
    kept = fitting_window(rows) if within_bytes else rows
    return _page(kept[::-1], more=len(rows) > len(kept))


def messages_where(conditions: list[tuple[str, list[Any]]], *, session_id: uuid.UUID, live: Live, more: bool) -> Page:
    """The messages that meet one of these conditions, each with its parameters. The caller keeps them bounded."""
    own = _of(session_id, live)
    rows = [
        row for where, parameters in conditions for row in read_rows(_select(where, "position"), [*own, *parameters, UNLIMITED])
    ]
    rows.sort(key=lambda row: row[_POSITION])
    return _page(rows, more=more)


def find_message(*, session_id: uuid.UUID, live: Live, message_id: str) -> dict[str, Any] | None:
    """One live message; None if it is unknown, removed or damaged."""
    rows = read_rows(_select("removed = '' AND message_id = %s", "position"), [*_of(session_id, live), message_id, 1])
    return next(iter(_page(rows, more=False).items), None)


def messages_of_rows(pks: list[int]) -> dict[int, dict[str, Any]]:
    """Messages by their rows, live or not. Damaged ones are left out. At most a few hundred."""
    if not pks:
        return {}
    columns = f"{_COLUMNS}, {raw_time_sql('created_at')} AS created, {raw_time_sql('updated_at')} AS updated, {_EXTRAS}"
    sql = f"SELECT {columns}, id FROM sessions_app_message WHERE id IN ({', '.join(['%s'] * len(pks))})"  # noqa: S608
    found = ((row[-1], _page([row[:-1]], more=False).items) for row in fetch_rows(sql, pks))
    return {pk: items[0] for pk, items in found if items}


def shown_messages(rows: list[Any]) -> list[dict[str, Any]]:
    """Rows with the columns of `_ROW` as JSON ready to send; damaged ones are left out."""
    return _page(rows, more=False).items


def position_of(*, session_id: uuid.UUID, live: Live, message_id: str) -> int | None:
    """A message's position, removed or not; None if there is no such message."""
    sql = "SELECT position FROM sessions_app_message WHERE session_id = %s AND epoch = %s AND message_id = %s"
    row = fetch_row(sql, [db_uuid(session_id), live.epoch, message_id])
    return None if row is None else int(row[0])


def _of(session_id: uuid.UUID, live: Live) -> list[Any]:
    """The first parameters of a `_select`."""
    revived = [live.revived_to, live.revived_rev, live.revived_rev, live.revived_to, live.span]
    return [*revived, db_uuid(session_id), live.epoch]


def read_rows(sql: str, parameters: list[Any], columns: str = _ROW) -> list[Any]:
    """Every row of `sql`, which has these columns. On SQLite as one value: its driver releases the GIL at every row, and a
    window has hundreds, so eight concurrent readers would spend more time switching threads than reading."""
    with fresh_cursor() as cursor:
        if not on_postgresql():
            try:
                cursor.execute(f"SELECT json_group_array(json_array({columns})) FROM ({sql})", parameters)  # noqa: S608
                rows: list[Any] = orjson.loads(cursor.fetchone()[0])
                return rows
            except (DatabaseError, ValueError):
                pass  # A damaged value is not JSON; row by row, the other rows can still be read.
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def fitting_window(rows: list[Any]) -> list[Any]:
    """The first rows that fit the window's bytes, at least one. The last value of a row is its size in bytes."""
    room = settings.WINDOW_BYTES
    for number, row in enumerate(rows):
        room -= row[-1]
        if room < 0 and number:
            return rows[:number]
    return rows


def _page(rows: list[Any], *, more: bool) -> Page:
    """Validate every row on every read (the database may be damaged) and format the valid ones."""
    written_since = _streaming_since()
    page = Page([], [], more)
    for row in rows:
        message_id, role, text, status, ver, rev, position, created, updated, *extras, _ = row
        item = {
            "id": message_id,
            "role": role,
            "text": text,
            "parts": [{"type": "text", "text": text}],
            "status": status,
            "ver": ver,
            "rev": rev,
            "created_at": as_rfc3339(created),
            "updated_at": as_rfc3339(updated),
            "position": position,
        }
        sound = role in ROLES and status in STATUSES and message_id and isinstance(text, str)
        if any(extra is not None for extra in extras):
            sound = sound and put_extras(item, _EXTRA_NAMES, extras)
        if status == STREAMING and item["updated_at"] < written_since:
            item["status"] = INTERRUPTED
        if sound:
            page.items.append(item)
        else:
            page.skipped.append({"id": str(message_id), "reason": "damaged"})
    return page


def shown_status(status: str, updated_at: str) -> str:
    """A streaming message without a write for a minute reads as interrupted."""
    return INTERRUPTED if status == STREAMING and updated_at < _streaming_since() else status


def _streaming_since() -> str:
    return rfc3339(now() - timedelta(seconds=STREAMING_SECONDS))


def put_extras(item: dict[str, Any], names: Sequence[str], extras: Sequence[str | None]) -> bool:
    """Add the optional fields of these names; False if one is damaged."""
    for name, stored in zip(names, extras, strict=True):
        if stored is None:
            continue
        if name in TEXT_COLUMNS:
            item[name] = None if name == "parent_id" and not stored else stored
        elif (fragment := json_field(name, stored)) is None:
            return False
        else:
            item[name] = fragment
    return True


def json_field(name: str, stored: str) -> orjson.Fragment | None:
    """Stored JSON as the exact text that was sent; None if it is damaged. It is parsed only to check that it still is JSON."""
    try:
        value = orjson.loads(stored)
    except ValueError:
        try:
            value = quick_json(stored)
        except (ValueError, RecursionError):
            return None
    if name == "parts" and not (isinstance(value, list) and all(isinstance(part, dict) for part in value)):
        return None
    return orjson.Fragment(stored)
