"""A row's values as JSON, and back. Exact both ways: JSON that is stored as text stays that very text."""

import json
import math
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.db.models import Field, ForeignKey

from sessions_app.queries.export_cleaning import WrongValue
from sessions_app.queries.export_kinds import Kind

# As of every body.
MAX_DEPTH = 64
_LARGEST = {"PositiveSmallIntegerField": 2**15 - 1, "PositiveIntegerField": 2**31 - 1, "IntegerField": 2**31 - 1}


def line_of(kind: Kind, values: tuple[Any, ...]) -> bytes:
    """`{"message": {…}}` and a line feed; `values` in the order of the kind's fields."""
    row = dict(zip(kind.fields, values, strict=True))
    return as_line({kind.name: row})


def as_line(value: Any) -> bytes:
    # Not the fast writer: it knows no whole number beyond 64 bits.
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode() + b"\n"


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(type(value).__name__)


def values_of(kind: Kind, row: Any) -> dict[str, Any]:
    """A line's object as this kind's values. A field that is absent takes its default; an unknown one is refused."""
    if not isinstance(row, dict):
        raise WrongValue(f"{kind.name} is no object")
    if unknown := row.keys() - kind.fields.keys():
        raise WrongValue(f"{kind.name} has no field {sorted(unknown)[0][:64]!r}")
    if missing := [name for name in kind.known_by if name not in row]:
        raise WrongValue(f"{kind.name} lacks {missing[0]}")
    values = {name: _value(kind.fields[name], value) for name, value in row.items()}
    if kind.clean is not None:
        kind.clean(values)
    return values


def _value(field: "Field[Any, Any]", value: Any) -> Any:
    column = field.target_field if isinstance(field, ForeignKey) else field
    reader = _READERS[column.get_internal_type()]
    if value is None and field.null:
        return None
    try:
        return reader(column, value)
    except (ValueError, OverflowError, TypeError, AttributeError):
        raise WrongValue(f"{field.attname} has a wrong value") from None


def _text(column: "Field[Any, Any]", value: Any) -> str:
    if not isinstance(value, str) or (column.max_length is not None and len(value) > column.max_length):
        raise ValueError
    return value


def _number(column: "Field[Any, Any]", value: Any) -> int:
    most = _LARGEST.get(column.get_internal_type(), 2**63 - 1)
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError
    return value


def _float(column: "Field[Any, Any]", value: Any) -> float:
    if type(value) not in {int, float} or not math.isfinite(value):
        raise ValueError
    return float(value)


def _flag(column: "Field[Any, Any]", value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _time(column: "Field[Any, Any]", value: Any) -> datetime:
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError
    return moment.astimezone(UTC)


def _shallow(value: Any, left: int) -> Any:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if left == 0:
        raise ValueError
    for child in children:
        _shallow(child, left - 1)
    return value


_READERS: dict[str, Callable[["Field[Any, Any]", Any], Any]] = {
    "CharField": _text,
    "TextField": _text,
    "PositiveSmallIntegerField": _number,
    "PositiveIntegerField": _number,
    "PositiveBigIntegerField": _number,
    "IntegerField": _number,
    "BigIntegerField": _number,
    "FloatField": _float,
    "BooleanField": _flag,
    "UUIDField": lambda _, value: uuid.UUID(value),
    "DateTimeField": _time,
    "JSONField": lambda _, value: _shallow(value, MAX_DEPTH),
}
