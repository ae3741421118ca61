"""Cursors of lists of sessions: the place where the next page begins, as text."""

import base64
import binascii
import uuid
from datetime import UTC, datetime
from typing import Any

import orjson

from sessions_app.chats.reading.session_filters import DEFAULT_SORT, ORDERS, Place, Sort
from sessions_app.core.errors import ForeignCursor
from sessions_app.core.storage.sql import rfc3339
from sessions_app.core.web.schemas import BIGGEST, make_cursor, read_cursor


def make_place(sort: Sort, place: Place) -> str:
    if sort == DEFAULT_SORT and place.message is None:
        return make_cursor(place.value, place.id)
    parts = [sort, place.value, place.id, *([] if place.message is None else [place.message])]
    return base64.urlsafe_b64encode(orjson.dumps(parts)).decode().rstrip("=")


def read_place(sort: Sort, cursor: str | None) -> Place | None:
    """A cursor of another sort is refused: its value means something else. Raises ForeignCursor."""
    if not cursor:
        return None
    if (parts := _parts(cursor)) is None:
        place = read_cursor(cursor) if sort == DEFAULT_SORT else None
        if place is None:
            raise ForeignCursor
        return Place(rfc3339(place[0]), place[1])
    try:
        said, value, row_id, *message = parts
        place_id = uuid.UUID(row_id)
        if said != sort or not isinstance(value, str) or "\0" in value or not _is_message(message):
            raise ForeignCursor
        if ORDERS[sort].is_time:
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                raise ForeignCursor
            value = moment.astimezone(UTC).isoformat()
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise ForeignCursor from None
    return Place(value, place_id, *message)


def _parts(cursor: str) -> list[Any] | None:
    """Of a cursor that is a list of JSON."""
    try:
        parts = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error):
        return None
    return parts if isinstance(parts, list) else None


def _is_message(sent: list[Any]) -> bool:
    return not sent or (len(sent) == 1 and type(sent[0]) is int and 0 <= sent[0] <= BIGGEST)
