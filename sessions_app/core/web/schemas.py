"""Shared by all schemas: strict types, cursors, times."""

import base64
import binascii
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ninja import Query, Schema
from pydantic import BaseModel, ConfigDict, Field

from sessions_app.core.errors import ForeignCursor
from sessions_app.core.storage.sql import rfc3339

BIGGEST = 2**53 - 1
# Of the log and of revs: what is left out is none.
SINCE: int = Query(0, ge=0, le=BIGGEST)  # type: ignore[type-arg]


# The default of a list's `limit`.
LIMIT: int = Query(50, ge=1, le=500)  # type: ignore[type-arg]

# In the response to a save: what was removed before it was stored.
REDACTED: dict[str, int] = Field(description="Number of secrets removed before it was stored, by kind.")


class In(BaseModel):
    """A body, or a part of one. Types are not coerced ("1" is no number), and unknown fields are refused: they would be
    lost silently.

    Not Ninja's Schema, which accepts any value for an object and drops unknown fields.
    """

    model_config = ConfigDict(strict=True, extra="forbid")


class Tolerant(In):
    """A body that may have unknown fields: reports made by other tools."""

    model_config = ConfigDict(extra="ignore")


# Replace pydantic's messages about our classes.
_REASONS = {"extra_forbidden": "There is no such field.", "model_type": "A JSON object belongs here."}


def reason_of(item: Mapping[str, Any]) -> str:
    """The reason in one of pydantic's errors."""
    return _REASONS.get(item["type"]) or str(item["msg"]).removeprefix("Value error, ")


class ErrorBody(Schema):
    code: str
    message: str
    details: dict[str, Any]


class Error(Schema):
    """The body of every error response."""

    error: ErrorBody


def read_number(cursor: str | None, *, digits: int = 18) -> int | None:
    """Parse a numeric cursor: the row after which the list continues. An invalid cursor is refused."""
    if not cursor:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= digits):
        raise ForeignCursor
    return int(cursor)


def make_cursor(at: datetime | str, row_id: uuid.UUID) -> str:
    moment = at if isinstance(at, str) else rfc3339(at)
    return base64.urlsafe_b64encode(f"{moment} {row_id}".encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> tuple[datetime, uuid.UUID] | None:
    """Parse a cursor: the row after which the list continues. An invalid cursor is refused."""
    if not cursor:
        return None
    try:
        moment, row_id = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().split(" ")
        at = datetime.fromisoformat(moment)
        if at.tzinfo is None:
            raise ForeignCursor
        return at.astimezone(UTC), uuid.UUID(row_id)
    except (ValueError, OverflowError, binascii.Error, UnicodeDecodeError):
        raise ForeignCursor from None
