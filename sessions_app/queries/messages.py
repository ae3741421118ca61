"""Reading messages. Hand-written SQL and plain tuples on purpose: these reads are the product's hot path.

A session's live window is its newest messages, at most `WINDOW_MESSAGES` of them and `WINDOW_BYTES` together (always
at least the newest one). Every read is by index and bounded, so it costs the same in a long session as in a short one.
"""

import json
import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
from django.conf import settings
from django.db import DatabaseError, connection

from sessions_app.models.message import STREAMING_SECONDS, Role, Status
from sessions_app.models.sql import as_rfc3339, db_uuid, fetch_row, fetch_rows, now, on_postgresql, raw_time_sql, rfc3339

ROLES, STATUSES = frozenset(Role.values), frozenset(Status.values)
STREAMING, INTERRUPTED = Status.STREAMING.value, Status.INTERRUPTED.value
_COLUMNS = "message_id, role, text, status, ver, rev, position"
_EXTRAS = "parts, metadata, raw, format, parent_id, flagged, size_bytes"
_EXTRA_NAMES = _EXTRAS.split(", ")[:-1]
_ROW = f"{_COLUMNS}, created, updated, {_EXTRAS}"


@dataclass(frozen=True, slots=True)
class Page:
    """Messages oldest first, as JSON ready to send, and the damaged rows that were left out."""

    items: list[dict[str, Any]]
    skipped: list[dict[str, str]]
    more: bool

    @property
    def streaming(self) -> bool:
        """Is one of them still being written?"""
        return any(item["status"] == STREAMING for item in self.items)


def _select(where: str, order: str) -> str:
    created, updated = raw_time_sql("created_at"), raw_time_sql("updated_at")
    return (
        f"SELECT {_COLUMNS}, {created} AS created, {updated} AS updated, {_EXTRAS} FROM sessions_app_message "  # noqa: S608 - constants only
        f"WHERE session_id = %s AND epoch = %s AND {where} ORDER BY {order} LIMIT %s"
    )


def live_window(*, session_id: uuid.UUID, epoch: int) -> Page:
    """The newest messages, within the window's count and size."""
    limit = settings.WINDOW_MESSAGES
    rows = _rows(_select("removed = ''", "position DESC"), [db_uuid(session_id), epoch, limit + 1])
    kept = _within_bytes(rows[:limit])
    return _page(kept[::-1], more=len(rows) > len(kept))


def page_before(*, session_id: uuid.UUID, epoch: int, position: int, limit: int) -> Page:
    """The `limit` messages before a position."""
    sql = _select("removed = '' AND position < %s", "position DESC")
    rows = _rows(sql, [db_uuid(session_id), epoch, position, limit + 1])
    return _page(rows[:limit][::-1], more=len(rows) > limit)


def page_after(*, session_id: uuid.UUID, epoch: int, position: int, limit: int) -> Page:
    """The `limit` messages after a position (0: from the first one)."""
    sql = _select("removed = '' AND position > %s", "position")
    rows = _rows(sql, [db_uuid(session_id), epoch, position, limit + 1])
    return _page(rows[:limit], more=len(rows) > limit)


def changed_since(*, session_id: uuid.UUID, epoch: int, rev: int, limit: int) -> tuple[Page, list[str], int | None]:
    """What changed after `rev`: live messages, ids taken out, and the rev to go on from where there is more.

    A page never ends inside one rev, so that going on from its last rev misses nothing; one save changes at most a
    few hundred messages, so a page may exceed `limit` by that.
    """
    last = _last_rev_of_page(session_id, epoch, rev, limit)
    condition, bounds = ("rev > %s", [rev]) if last is None else ("rev > %s AND rev <= %s", [rev, last])
    sql = _select(f"removed = '' AND {condition}", "position")
    rows = _rows(sql, [db_uuid(session_id), epoch, *bounds, 1_000_000])
    gone = f"SELECT message_id FROM sessions_app_message WHERE session_id = %s AND epoch = %s AND removed <> '' AND {condition}"  # noqa: S608
    gone_rows = fetch_rows(f"{gone} ORDER BY position, message_id", [db_uuid(session_id), epoch, *bounds])
    removed = [message_id for (message_id,) in gone_rows]
    return _page(rows, more=last is not None), removed, last


def position_of(*, session_id: uuid.UUID, epoch: int, message_id: str) -> int | None:
    """Where a message stands, taken out or not; None where there is none."""
    sql = "SELECT position FROM sessions_app_message WHERE session_id = %s AND epoch = %s AND message_id = %s"
    row = fetch_row(sql, [db_uuid(session_id), epoch, message_id])
    return None if row is None else int(row[0])


def _last_rev_of_page(session_id: uuid.UUID, epoch: int, rev: int, limit: int) -> int | None:
    """The rev of the `limit`th change after `rev`, or None where all fit (or all that is left is of that one rev)."""
    sql = "SELECT rev FROM sessions_app_message WHERE session_id = %s AND epoch = %s AND rev > %s ORDER BY rev LIMIT %s"
    revs = [found for (found,) in fetch_rows(sql, [db_uuid(session_id), epoch, rev, limit + 1])]
    return int(revs[limit - 1]) if len(revs) > limit else None


def _rows(sql: str, parameters: list[Any]) -> list[Any]:
    """Every row of `sql`. On SQLite as one value: its driver lets other threads in at every row, and a window has hundreds,
    so eight readers at once would spend more time on handing over than on reading."""
    with connection.cursor() as cursor:
        if not on_postgresql():
            try:
                cursor.execute(f"SELECT json_group_array(json_array({_ROW})) FROM ({sql})", parameters)  # noqa: S608
                rows: list[Any] = orjson.loads(cursor.fetchone()[0])
                return rows
            except (DatabaseError, ValueError):
                pass  # A damaged value cannot be JSON; row by row, the others can still be read.
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def _within_bytes(rows: list[Any]) -> list[Any]:
    """As many of the newest as fit the window's bytes, but at least one."""
    room = settings.WINDOW_BYTES
    for number, row in enumerate(rows):
        room -= row[-1]
        if room < 0 and number:
            return rows[:number]
    return rows


def _page(rows: list[Any], *, more: bool) -> Page:
    """Checks every row every time (what stands in the database may not be what we wrote) and shapes the sound ones."""
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
            sound = sound and _put_extras(item, extras)
        if status == STREAMING and item["updated_at"] < written_since:
            item["status"] = INTERRUPTED
        if sound:
            page.items.append(item)
        else:
            page.skipped.append({"id": str(message_id), "reason": "damaged"})
    return page


def shown_status(status: str, updated_at: str) -> str:
    """A stream that nobody has written for a minute reads as interrupted."""
    return INTERRUPTED if status == STREAMING and updated_at < _streaming_since() else status


def _streaming_since() -> str:
    return rfc3339(now() - timedelta(seconds=STREAMING_SECONDS))


def quick_json(stored: str) -> Any:
    """For a look at what is stored, not for writing it anew: whole numbers beyond 64 bits come out rounded.

    The fast reader knows no number beyond a float at all; the slow one does.
    """
    try:
        return orjson.loads(stored)
    except ValueError:
        return json.loads(stored)


def _put_extras(item: dict[str, Any], extras: list[str | None]) -> bool:
    """Put in what is optional; False where it is damaged.

    Stored JSON goes out as the very text that came in; it is read once more only to see that it still is JSON.
    """
    for name, stored in zip(_EXTRA_NAMES, extras, strict=True):
        if stored is None:
            continue
        if name in {"format", "parent_id"}:
            item[name] = stored
            continue
        try:
            value = quick_json(stored)
        except (ValueError, RecursionError):
            return False
        if name == "parts" and not (isinstance(value, list) and all(isinstance(part, dict) for part in value)):
            return False
        item[name] = orjson.Fragment(stored)
    return True
