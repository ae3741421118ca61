"""Pages of messages with some of their fields only: what is not asked for is neither read nor checked nor sent."""

import uuid
from collections.abc import Collection
from typing import Any

from sessions_app.chats.reading.messages import ON_PATH, TEXT_COLUMNS, Page, json_field, read_rows
from sessions_app.core.errors import Invalid
from sessions_app.core.storage.sql import db_uuid
from sessions_app.models.live import Live
from sessions_app.models.message import ROLES

_PLAIN, _EXTRAS = ("role", "text"), ("parts", "metadata", "raw", "format")
# `id` is always there: by it reading continues.
PARTIAL_FIELDS = ("id", *_PLAIN, *_EXTRAS)


def named_fields(text: str) -> frozenset[str]:
    """Parse names that commas separate. Raises Invalid for an unknown one."""
    names = frozenset(name.strip() for name in text.split(","))
    if not names <= set(PARTIAL_FIELDS):
        message = f"`fields` is a list, separated by commas, of {', '.join(PARTIAL_FIELDS)}."
        raise Invalid(message, details={"field": "fields", "known": list(PARTIAL_FIELDS)})
    return names


def partial_page_before(*, session_id: uuid.UUID, live: Live, position: int, limit: int, fields: Collection[str]) -> Page:
    """As `page_before`, of the same messages: the path's, where a session has branches."""
    rows = _rows(session_id, live, "position < %s", "position DESC", position, limit, fields)
    return _page(rows[:limit][::-1], fields, more=len(rows) > limit)


def partial_page_after(*, session_id: uuid.UUID, live: Live, position: int, limit: int, fields: Collection[str]) -> Page:
    """As `page_after`."""
    rows = _rows(session_id, live, "position > %s", "position", position, limit, fields)
    return _page(rows[:limit], fields, more=len(rows) > limit)


def _rows(
    session_id: uuid.UUID, live: Live, where: str, order: str, position: int, limit: int, fields: Collection[str]
) -> list[Any]:
    columns = ", ".join(("message_id", *_read(fields), *_extras(fields)))
    sql = f"SELECT {columns} FROM sessions_app_message WHERE session_id = %s AND epoch = %s AND {ON_PATH}"  # noqa: S608 - constants only
    parameters = [db_uuid(session_id), live.epoch, position, limit + 1]
    return read_rows(f"{sql} AND {where} ORDER BY {order} LIMIT %s", parameters, columns)


def _read(fields: Collection[str]) -> tuple[str, ...]:
    """Parts that are not stored are those of the text."""
    return tuple(name for name in _PLAIN if name in fields or (name == "text" and "parts" in fields))


def _extras(fields: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in _EXTRAS if name in fields)


def _page(rows: list[Any], fields: Collection[str], *, more: bool) -> Page:
    """What is damaged is skipped, as far as it was read."""
    page = Page([], [], more)
    extras = _extras(fields)
    names = ("id", *_read(fields), *extras)
    has_role, has_text, sends_text = "role" in names, "text" in names, "text" in fields
    for row in rows:
        item: dict[str, Any] = dict(zip(names, row, strict=True))
        sound = row[0] and (not has_role or item["role"] in ROLES) and (not has_text or isinstance(item["text"], str))
        if not (sound and _are_sound(item, extras)):
            page.skipped.append({"id": str(row[0]), "reason": "damaged"})
            continue
        if has_text and not sends_text:
            del item["text"]
        page.items.append(item)
    return page


def _are_sound(item: dict[str, Any], extras: tuple[str, ...]) -> bool:
    """Makes of these fields what is sent. False if one is damaged."""
    for name in extras:
        stored = item[name]
        if stored is not None and name not in TEXT_COLUMNS:
            fragment = item[name] = json_field(name, stored)
            if fragment is None:
                return False
        elif name == "parts":
            item[name] = [{"type": "text", "text": item["text"]}]
        elif stored is None:
            del item[name]
    return True
