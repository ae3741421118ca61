"""Converts a row's values to JSON and back, exactly: JSON stored as text stays the same text."""

import json
import math
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any

import orjson
from django.db.models import Field, ForeignKey

from sessions_app.portability.content_kinds import Kind
from sessions_app.portability.secret_removal import WrongValue

_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
WRITTEN_AT_ONCE = 65_536
# As of every body.
MAX_DEPTH = 64
# Counters continue from the file's values, so there must be room above; numbers from clients are taken as they are.
_LARGEST = {"PositiveSmallIntegerField": 2**15 - 1, "PositiveIntegerField": 2_000_000_000, "IntegerField": 2**31 - 1}
_LARGEST_COUNTER, _LARGEST_NUMBER = 2**53 - 1, 2**63 - 1
_NOT_COUNTED_HERE = frozenset({"writer_seq", "seq", "line"})
_SIGNED = frozenset({"idx"})


def line_of(kind: Kind, values: tuple[Any, ...]) -> bytes:
    """`{"message": {…}}` and a line feed; `values` in the order of the kind's fields."""
    row = {kind.name: dict(zip(kind.fields, values, strict=True))}
    return orjson.dumps(row, option=_OPTIONS) if kind.plain else as_line(row)


def lines_of(kind: Kind, rows: list[tuple[Any, ...]]) -> Iterator[tuple[int, bytes]]:
    """Lines of rows that begin with their key, in batches large enough for one write."""
    some, size = [], 0
    for row in rows:
        some.append(line_of(kind, row[1:]))
        size += len(some[-1])
        if size > WRITTEN_AT_ONCE:
            yield len(some), b"".join(some)
            some, size = [], 0
    yield len(some), b"".join(some)


def as_line(value: Any) -> bytes:
    return _exact(value).encode() + b"\n"


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return b64encode(value).decode()
    raise TypeError(type(value).__name__)


def values_of(kind: Kind, row: Any) -> dict[str, Any]:
    """A line's object as this kind's values. A field that is absent takes its default; an unknown one is refused."""
    if not isinstance(row, dict):
        raise WrongValue(f"{kind.name} is not an object")
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
    largest = _LARGEST_NUMBER if column.name in _NOT_COUNTED_HERE else _LARGEST_COUNTER
    most = _LARGEST.get(column.get_internal_type(), largest)
    least = -most if column.name in _SIGNED else 0
    if type(value) is not int or not least <= value <= most:
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


def _day(column: "Field[Any, Any]", value: Any) -> date:
    return date.fromisoformat(value)


def _shallow(value: Any, left: int) -> Any:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if left == 0:
        raise ValueError
    for child in children:
        _shallow(child, left - 1)
    return value


# Not the fast writer: it supports no integers beyond 64 bits, and writes some floats differently.
_exact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode

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
    "DateField": _day,
    "DateTimeField": _time,
    "BinaryField": lambda _, value: b64decode(value, validate=True),
    "JSONField": lambda _, value: _shallow(value, MAX_DEPTH),
}
