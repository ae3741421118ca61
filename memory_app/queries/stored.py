"""Stored JSON in answers. A damaged file or another program can have spoiled it: then it is as if nothing was there."""

import orjson

from sessions_app.errors import NotFound


class EntryNotFound(NotFound):
    kind = "memory entry"
    message = "This namespace has no such key. List its keys; what was deleted is listed apart and can be brought back."


class Damaged(NotFound):
    code = "damaged"
    message = "What is stored here is damaged. Restore one of its versions, or write it anew."


def is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True


def as_json(text: str) -> orjson.Fragment | None:
    """For an answer: the text itself, unless it would spoil all of it."""
    return orjson.Fragment(text) if is_json(text) else None
