"""Stored JSON in responses. A disk fault or another program may have damaged it: then it counts as missing."""

import orjson

from sessions_app.core.errors import NotFound


class EntryNotFound(NotFound):
    kind = "memory entry"
    message = "This namespace has no such key. List its keys; deleted ones are listed separately and can be restored."


class Damaged(NotFound):
    code = "damaged"
    message = "What is stored here is damaged. Restore one of its versions, or write it again."


def is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True


def as_json(text: str) -> orjson.Fragment | None:
    """The text for a response; None if it would make the response invalid JSON."""
    return orjson.Fragment(text) if is_json(text) else None
