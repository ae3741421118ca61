"""What all shapes share: strict types, cursors, times."""

import base64
import binascii
import uuid
from datetime import UTC, datetime
from typing import Any

from ninja import Query, Schema
from pydantic import BaseModel, ConfigDict, Field

from sessions_app.errors import Invalid
from sessions_app.models.sql import rfc3339

# The default of a list's `limit`.
LIMIT: int = Query(50, ge=1, le=500)  # type: ignore[type-arg]

# Of an answer to a save: what was taken out before it was stored.
REDACTED: dict[str, int] = Field(description="How many secrets of which kind were taken out before it was stored.")


class In(BaseModel):
    """A body, or a part of one. Types are not guessed ("1" is no number), and a field that we do not know is refused: it would be
    lost without a word.

    Not Ninja's Schema, which takes any value for an object and loses the fields that it does not know.
    """

    model_config = ConfigDict(strict=True, extra="forbid")


class Tolerant(In):
    """What must not be refused for a field too many: words that a newer client saves, reports as other tools make them."""

    model_config = ConfigDict(extra="ignore")


class ErrorBody(Schema):
    code: str
    message: str
    details: dict[str, Any]


class Error(Schema):
    """Every refusal, everywhere."""

    error: ErrorBody


class ForeignCursor(Invalid):
    def __init__(self) -> None:
        super().__init__("This cursor is not one of ours. Use `next` as it was given.", details={"field": "cursor"})


def read_number(cursor: str | None, *, digits: int = 18) -> int | None:
    """The place after which a list goes on that counts its rows; what we did not make is refused."""
    if not cursor:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= digits):
        raise ForeignCursor
    return int(cursor)


def make_cursor(at: datetime | str, row_id: uuid.UUID) -> str:
    moment = at if isinstance(at, str) else rfc3339(at)
    return base64.urlsafe_b64encode(f"{moment} {row_id}".encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> tuple[datetime, uuid.UUID] | None:
    """The place after which a list goes on; what we did not make is refused."""
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
