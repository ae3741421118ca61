"""Reads JSON that is stored as text. A damaged value is None or empty."""

import json
from typing import Any, Never

import orjson

from sessions_app.core.serialization.json_text import written_float, written_integer


def quick_json(stored: str) -> Any:
    """For display, not for writing the value again: integers beyond 64 bits are rounded.

    The fast reader rejects numbers beyond a float; the slow one accepts them. NaN, which is no JSON, is a ValueError.
    """
    try:
        return orjson.loads(stored)
    except ValueError:
        return strict_json(stored)


def read_json(stored: str) -> Any:
    """Integers of any size are exact; the faster reader would turn them into floats (`queries.messages.quick_json`)."""
    return json.loads(stored)


def written_json(stored: str) -> Any:
    """As `read_json`, for what is written again as `json_text`: numbers keep their notation (`1.10`, `-0`)."""
    return json.loads(stored, parse_float=written_float, parse_int=written_integer)


def strict_json(stored: str) -> Any:
    """As `read_json`, for texts of others: NaN and Infinity, which are no JSON, are a ValueError."""
    return _strict.decode(stored)


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON number")


_strict = json.JSONDecoder(parse_constant=_refuse_constant)


def stored_object(stored: str | None) -> dict[str, Any]:
    """A state's fields; empty if there is none, or if the stored value is damaged."""
    return (None if stored is None else exact_object(stored)) or {}


def exact_object(stored: str) -> dict[str, Any] | None:
    """As `read_object`, for values that are exported or written again: integers of any size are exact."""
    try:
        value = read_json(stored)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_value(content: str) -> Any:
    """None if it is not JSON."""
    try:
        return quick_json(content)
    except (ValueError, RecursionError):
        return None


def read_object(content: str) -> dict[str, Any] | None:
    """None if it is not a JSON object: a damaged row must not break a page or a bundle."""
    value = read_value(content)
    return value if isinstance(value, dict) else None
