"""Values as JSON."""

import json
import math
from dataclasses import is_dataclass
from typing import Any

import orjson


def as_json(value: Any, name: str = "") -> bytes:
    """`name`: what the value is called in errors. Raises ValueError for NaN and infinity, which JSON does not have: null would be
    another value."""
    try:
        content = orjson.dumps(value)
    except TypeError:  # An integer beyond 64 bits, or a lone surrogate.
        refuse_infinite(value, name)
        return json.dumps(value, allow_nan=False).encode()
    if b"null" in content:  # As which it writes them.
        refuse_infinite(value, name)
    return content


def refuse_infinite(value: Any, name: str = "") -> None:
    """Raises ValueError for NaN and infinity, with the place."""
    left, seen = [(name, value)], set[int]()
    while left:
        name, each = left.pop()
        if isinstance(each, float) and not math.isfinite(each):
            raise ValueError(f"{name or 'The value'} is {each}, which JSON does not have.")
        inner = vars(each) if is_dataclass(each) and hasattr(each, "__dict__") else each
        if id(each) in seen or not isinstance(inner, dict | list | tuple):
            continue
        seen.add(id(each))
        if isinstance(inner, dict):
            left.extend((f"{name}.{key}" if name else str(key), within) for key, within in inner.items())
        else:
            left.extend((f"{name}[{number}]", within) for number, within in enumerate(inner))


def fits_json(value: Any) -> bool:
    """False for halves of characters, as texts have that were cut, and for NaN and infinity: JSON in UTF-8 has neither."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True
