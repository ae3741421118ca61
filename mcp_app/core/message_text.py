"""Messages as a model reads them: the newest, or those around one, as many as fit."""

from collections.abc import Iterable
from typing import Any

from mcp_app.core.outcomes import size_of

LEAST_TEXT = 200
_KEPT = ("id", "role", "status", "created_at")


def brief(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what its text says already. Parts that are more than text are named."""
    shape = {name: message[name] for name in _KEPT} | {"text": message["text"]}
    kinds = [part.get("type") for part in message["parts"]] if isinstance(message["parts"], list) else []
    others = sorted({str(kind) for kind in kinds if kind != "text"})
    return shape | ({"other_parts": others} if others else {})


def newest_within(messages: Iterable[dict[str, Any]], room: int) -> tuple[list[dict[str, Any]], bool]:
    """The newest of these (given oldest first) that fit into `room` bytes, oldest first; and whether any was left out."""
    kept: list[dict[str, Any]] = []
    every = [brief(message) for message in messages]
    for message in reversed(every):
        fitting = _cut(message, room)
        if fitting is None:
            break
        kept.append(fitting)
        room -= size_of(fitting) + 1
        if fitting is not message:
            break
    return kept[::-1], len(kept) < len(every)


def around_within(
    before: list[dict[str, Any]], chosen: dict[str, Any], after: list[dict[str, Any]], room: int
) -> tuple[list[dict[str, Any]], bool, bool]:
    """`chosen` and its neighbours in turn, as many as fit; and whether some before and after it were left out."""
    middle = _cut(brief(chosen), room) or {**brief(chosen), "text": "", "cut": True}
    room -= size_of(middle)
    older, newer = [brief(message) for message in reversed(before)], [brief(message) for message in after]
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    waiting = [0, 1]
    while waiting:
        for side in list(waiting):
            source = (older, newer)[side]
            at = len(sides[side])
            size = size_of(source[at]) + 1 if at < len(source) else room + 1
            if size > room:
                waiting.remove(side)
                continue
            sides[side].append(source[at])
            room -= size
    return [*sides[0][::-1], middle, *sides[1]], len(sides[0]) < len(older), len(sides[1]) < len(newer)


def beginning_of[T: (str, list[Any])](value: T, room: int) -> T:
    """As much of the beginning of a text or list as fits into `room` bytes as JSON, about; empty if nothing does."""
    while value and (size := size_of(value)) > room:
        value = value[: len(value) * max(room, 0) // (size + 1)]
    return value


def _cut(message: dict[str, Any], room: int) -> dict[str, Any] | None:
    """The message, or the beginning of its text marked `cut`; None if not even that fits."""
    size = size_of(message)
    if size <= room:
        return message
    text = message["text"]
    while len(text) > LEAST_TEXT:
        # A character has up to six bytes as JSON: shorten in proportion until it fits.
        text = text[: max(LEAST_TEXT, len(text) * max(room, 1) // (size + 1) - 20)]
        shorter = {**message, "text": text, "cut": True}
        size = size_of(shorter)
        if size <= room:
            return shorter
    return None
