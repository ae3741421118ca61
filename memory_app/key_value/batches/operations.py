"""The operations of a batch, as services know them: names checked, values without secrets."""

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import orjson

from memory_app.core.namespaces import check_place
from memory_app.key_value.batches.filters import Filter
from memory_app.key_value.entries.entry_rows import EntryRow
from memory_app.key_value.entries.entry_values import CheckedEntry
from sessions_app.core.errors import AppError, Invalid
from sessions_app.core.web.preconditions import ANY, Conditions


class Order(Enum):
    """Of a list: by namespace and key, or by the time of the last write (ties by namespace and key)."""

    KEY = "key"
    KEY_DOWN = "-key"
    UPDATED = "updated"
    UPDATED_DOWN = "-updated"


@dataclass(frozen=True, slots=True)
class Get:
    """`refresh`: whether the read moves an expiry; None: as the namespace's settings say."""

    namespace: str
    key: str
    refresh: bool | None = None


@dataclass(slots=True)
class Put:
    entry: CheckedEntry
    conditions: Conditions = ANY
    ttl_minutes: float | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    namespace: str
    key: str
    conditions: Conditions = ANY


@dataclass(frozen=True, slots=True)
class Purge:
    """Of one key, or of a namespace (`deep`: with all beneath it) or of its keys with this prefix."""

    namespace: str
    key: str | None = None
    prefix: str = ""
    deep: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class List:
    """`cursor`: what the last entry of the page before is ordered by."""

    namespace: str
    prefix: str = ""
    deep: bool = False
    order: Order = Order.KEY
    limit: int = 50
    offset: int = 0
    cursor: tuple[str, str, str] | None = None
    values: bool = False
    sought: Filter | None = None
    refresh: bool | None = None

    @property
    def with_values(self) -> bool:
        return self.values or self.sought is not None


type Operation = Get | Put | Delete | Purge | List
type Result = dict[str, Any]


def make_cursor(entry: EntryRow) -> str:
    last = [entry.updated_at.isoformat(), entry.namespace, entry.key]
    return base64.urlsafe_b64encode(orjson.dumps(last)).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[str, str, str]:
    """Raises Invalid for what `make_cursor` did not make."""
    try:
        updated, namespace, key = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        moment = datetime.fromisoformat(updated)
        if moment.tzinfo is None:
            raise ForeignCursor
        check_place(namespace, key)
        return moment.astimezone(UTC).isoformat(), namespace, key
    except (ValueError, TypeError, AttributeError, OverflowError, AppError):
        raise ForeignCursor from None


class ForeignCursor(Invalid):
    def __init__(self) -> None:
        super().__init__("This cursor is invalid. Use `next` exactly as it was returned.", details={"field": "cursor"})
