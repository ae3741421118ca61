"""JSON as the text that is stored and compared."""

import hashlib
from typing import Any

import orjson


class WrittenNumber(float):
    """A number that was written otherwise than we write it (`1.10`, `1E5`, `-0`). `json_text` returns it as it was written."""

    __slots__ = ("written",)
    written: str

    @classmethod
    def of(cls, number: float, written: str) -> "WrittenNumber":
        made = cls(number)
        made.written = written
        return made


def written_float(text: str) -> float:
    """For a decoder whose values are written again."""
    number = float(text)
    return number if orjson.dumps(number).decode() == text else WrittenNumber.of(number, text)


def written_integer(text: str) -> float:
    """As `written_float`. `-0` is no integer of Python."""
    return WrittenNumber.of(-0.0, text) if text == "-0" else int(text)


def json_text(value: Any) -> str:
    """Compact JSON, keys in insertion order. Integers of any size stay exact, and so does a number's notation."""
    return _encoded(value).decode()


def _encoded(value: Any, option: int = 0) -> bytes:
    try:
        return orjson.dumps(value, default=_as_written, option=option)
    except TypeError:
        return orjson.dumps(_marked(value), default=_as_written, option=option | orjson.OPT_PASSTHROUGH_SUBCLASS)


class _LargeInteger(int):
    """An integer beyond 64 bits, which orjson passes on instead of refusing it."""


def _as_written(value: Any) -> orjson.Fragment:
    match value:
        case WrittenNumber():
            return orjson.Fragment(value.written)
        case _LargeInteger():
            return orjson.Fragment(int.__repr__(value))
        case _:
            raise TypeError


def _marked(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        return _LargeInteger(value)
    if isinstance(value, list):
        return [_marked(child) for child in value]
    if isinstance(value, dict):
        return {key: _marked(child) for key, child in value.items()}
    return value


def fingerprint(value: Any) -> str:
    """Equal for values that are equal as JSON: key order is ignored, 1 equals 1.0, and 1.10 equals 1.1."""
    same = _plain(value) if _has_float(value) else value
    return hashlib.sha256(_encoded(same, orjson.OPT_SORT_KEYS)).hexdigest()


def _has_float(value: Any) -> bool:
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left.extend(each.values())
        elif isinstance(each, list):
            left.extend(each)
        elif isinstance(each, float):
            return True
    return False


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else float(value)
    if isinstance(value, list):
        return [_plain(child) for child in value]
    if isinstance(value, dict):
        return {key: _plain(child) for key, child in value.items()}
    return value
