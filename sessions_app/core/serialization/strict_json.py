"""Strict JSON parsing: ambiguous input is refused, characters that a database cannot hold are replaced.

Refused (400): NaN, Infinity, numbers beyond a double's range, duplicate keys, depth over 64, bad UTF-8, anything after the value.
Replaced by U+FFFD and reported: NUL and lone surrogates, which PostgreSQL's text or UTF-8 itself cannot hold.
"""

import json
import math
import re
from typing import Any, Never

from sessions_app.core.errors import BadRequest

MAX_DEPTH = 64
REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class UnreadableJson(BadRequest):
    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"The body is not JSON that can be stored: {why}.", code="unreadable_json")


def loads(raw: bytes) -> tuple[Any, list[str]]:
    """The value, and the dotted paths of the strings in which characters were replaced."""
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise UnreadableJson("it is not UTF-8") from None
    except RecursionError:
        raise UnreadableJson(f"it is nested deeper than {MAX_DEPTH}") from None
    except ValueError as error:
        # A decoder's message names a position ("line 1 column 5"), never the text.
        raise UnreadableJson(_reason(error)) from None
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
        _check_depth(value)
    return without_unstorable(value) if b"\\u" in raw else (value, [])


def exact(raw: bytes) -> Any:
    """A body that `loads` accepted, with the characters that it replaced: for values that are stored as escaped JSON."""
    return _DECODER.decode(raw.decode("utf-8"))


def clean_text(text: str) -> str:
    """`text` with characters that no database can hold replaced."""
    return _UNSTORABLE.sub(REPLACEMENT, text)


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return str(error).split(";")[0]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object has the same key twice")
    return made


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_refuse_constant)


def _check_depth(value: Any) -> None:
    """Level by level, so that the check itself needs no recursion."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise UnreadableJson(f"it is nested deeper than {MAX_DEPTH}")


def without_unstorable(value: Any) -> tuple[Any, list[str]]:
    """A copy in which characters that no database can hold are replaced, and the dotted paths of their strings."""
    replaced: list[str] = []

    def walk(item: Any, path: str) -> Any:
        if isinstance(item, str):
            cleaned = clean_text(item)
            if cleaned != item:
                replaced.append(path)
            return cleaned
        if isinstance(item, list):
            return [walk(child, f"{path}.{number}" if path else str(number)) for number, child in enumerate(item)]
        if isinstance(item, dict):
            return {key: walk(child, f"{path}.{key}" if path else key) for key, child in _clean_keys(item, path, replaced)}
        return item

    return walk(value, ""), replaced


def _clean_keys(item: dict[str, Any], path: str, replaced: list[str]) -> list[tuple[str, Any]]:
    cleaned = [(clean_text(key), child) for key, child in item.items()]
    if len({key for key, _ in cleaned}) != len(item):
        raise UnreadableJson("two keys of an object differ only in characters that cannot be stored")
    replaced += [f"{path}.{key}" if path else key for (key, _), old in zip(cleaned, item, strict=True) if key != old]
    return cleaned
