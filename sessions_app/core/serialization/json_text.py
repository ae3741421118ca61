"""JSON as the text that is stored and compared."""

import hashlib
import json
from typing import Any

import orjson


def json_text(value: Any) -> str:
    """Compact JSON, keys in insertion order. Integers of any size stay exact."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def storable_json(value: Any) -> str:
    """As `json_text`, for values that may have NUL and lone surrogates: they are stored as escapes."""
    text = json_text(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text


def fingerprint(value: Any) -> str:
    """Equal for values that are equal as JSON: key order is ignored, and 1 equals 1.0."""
    same = _whole(value) if _has_float(value) else value
    try:
        canonical = orjson.dumps(same, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # An integer beyond 64 bits.
        canonical = json.dumps(same, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
    return hashlib.sha256(canonical).hexdigest()


def _has_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_float(child) for child in value.values())
    if isinstance(value, list):
        return any(_has_float(child) for child in value)
    return isinstance(value, float)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(child) for child in value]
    if isinstance(value, dict):
        return {key: _whole(child) for key, child in value.items()}
    return value
