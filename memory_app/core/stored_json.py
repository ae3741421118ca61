"""Stored JSON in responses. A disk fault or another program may have damaged it: then it counts as missing."""

from typing import Any

import orjson

from sessions_app.core.errors import NotFound
from sessions_app.core.serialization.stored_json import strict_json


class EntryNotFound(NotFound):
    kind = "memory entry"
    message = "This namespace has no such key. List its keys; deleted ones are listed separately and can be restored."


class Damaged(NotFound):
    code = "damaged"
    message = "What is stored here is damaged. Restore one of its versions, or write it again."


def is_json(text: str) -> bool:
    try:
        quick_or_exact(text)
    except (ValueError, RecursionError):
        return False
    return True


def quick_or_exact(text: str) -> Any:
    """The value; integers beyond 64 bits are rounded, if a float can hold them. The fast reader refuses those that none can."""
    try:
        return orjson.loads(text)
    except ValueError:
        return strict_json(text)


def as_json(text: str) -> orjson.Fragment | None:
    """The text for a response; None if it would make the response invalid JSON."""
    return orjson.Fragment(text) if is_json(text) else None
