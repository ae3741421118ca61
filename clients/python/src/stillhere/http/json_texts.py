"""Values as JSON."""

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import is_dataclass
from typing import Any

import orjson

# The server takes 64 levels of lists and objects, of which a request adds three.
MOST_LEVELS = 60
_NESTING = (dict, list, tuple)


def as_json(value: Any, name: str = "") -> bytes:
    """`name`: what the value is called in errors. Raises ValueError for NaN and infinity, which JSON does not have: null would be
    another value. Raises TypeError for an object of another type, such as a set. Both name the place."""
    try:
        content = orjson.dumps(value)
    except TypeError:  # An integer beyond 64 bits, or a lone surrogate.
        refuse_infinite(value, name)
        try:
            return json.dumps(value, allow_nan=False).encode()
        except TypeError:
            refuse_objects(value, name)
            raise
    if b"null" in content:  # As which it writes them.
        refuse_infinite(value, name)
    return content


def refuse_infinite(value: Any, name: str = "") -> None:
    """Raises ValueError for NaN and infinity, with the place."""
    for place, each in _places(value, name):
        if isinstance(each, float) and not math.isfinite(each):
            raise ValueError(f"{place or 'The value'} is {each}, which JSON does not have.")


def refuse_objects(value: Any, name: str = "") -> None:
    """Raises TypeError for what JSON has no form for, with the place."""
    for place, each in _places(value, name):
        if not isinstance(each, str | dict | list | tuple) and not is_dataclass(each) and not _is_written(each):
            raise TypeError(f"{place or 'The value'} is of the type {type(each).__name__}, which JSON does not have.")


def _is_written(value: Any) -> bool:
    for dumps in (orjson.dumps, json.dumps):
        with suppress(TypeError):
            dumps(value)
            return True
    return False


def _places(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The value, and all that is in it, each with its place."""
    left, seen = [(name, value)], set[int]()
    while left:
        name, each = left.pop()
        yield name, each
        inner = vars(each) if is_dataclass(each) and hasattr(each, "__dict__") else each
        if id(each) in seen or not isinstance(inner, dict | list | tuple):
            continue
        seen.add(id(each))
        if isinstance(inner, dict):
            left.extend((f"{name}.{key}" if name else str(key), within) for key, within in inner.items())
        else:
            left.extend((f"{name}[{number}]", within) for number, within in enumerate(inner))


def fits_json(value: Any) -> bool:
    """False for halves of characters, as texts have that were cut, and for NaN and infinity: JSON in UTF-8 has neither. False for
    what is nested deeper than the server takes it as a part of a request."""
    with suppress(TypeError):  # What orjson takes is UTF-8, and most values are flat and without null, which may be NaN.
        content = orjson.dumps(value)
        if content.count(b"{") + content.count(b"[") <= MOST_LEVELS and b"null" not in content:
            return True
    if _is_deeper(value, MOST_LEVELS):
        return False
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True


def _is_deeper(value: Any, levels: int) -> bool:
    level = [value]
    for _ in range(levels):
        level = [inner for each in level if isinstance(each, _NESTING) for inner in _inside(each)]
        if not level:
            return False
    return any(isinstance(each, _NESTING) for each in level)


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value
