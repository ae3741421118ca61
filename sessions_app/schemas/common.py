"""What all shapes share: strict types, cursors, times."""

import base64
import binascii
import uuid
from datetime import datetime
from typing import Any

from ninja import Query, Schema
from pydantic import ConfigDict, Field

from sessions_app.errors import Invalid
from sessions_app.models.sql import rfc3339

# The default of a list's `limit`.
LIMIT: int = Query(50, ge=1, le=500)  # type: ignore[type-arg]

# Of an answer to a save: what was taken out before it was stored.
REDACTED: dict[str, int] = Field(description="How many secrets of which kind were taken out before it was stored.")


class In(Schema):
    """A body. Types are not guessed ("1" is no number); fields that we do not know are left alone."""

    model_config = ConfigDict(strict=True, extra="ignore")


class ErrorBody(Schema):
    code: str
    message: str
    details: dict[str, Any]


class Error(Schema):
    """Every refusal, everywhere."""

    error: ErrorBody


def make_cursor(at: datetime | str, row_id: uuid.UUID) -> str:
    moment = at if isinstance(at, str) else rfc3339(at)
    return base64.urlsafe_b64encode(f"{moment} {row_id}".encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> tuple[datetime, uuid.UUID] | None:
    """The place after which a list goes on; what we did not make is refused."""
    if not cursor:
        return None
    try:
        moment, row_id = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().split(" ")
        return datetime.fromisoformat(moment), uuid.UUID(row_id)
    except (ValueError, binascii.Error, UnicodeDecodeError):
        raise Invalid("This cursor is not one of ours. Use `next` as it was given.", details={"field": "cursor"}) from None
