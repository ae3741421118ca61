"""Content of several parts (lists and texts) within a budget: the beginning of each, or one of them page by page."""

from collections.abc import Callable
from typing import Any

from mcp_app.core.message_text import beginning_of
from mcp_app.core.outcomes import Outcome, size_of, stored
from mcp_app.core.tool import BYTES_A_TOKEN, DEFAULT_TOKENS, Arguments, Budget, Cursor
from sessions_app.core.errors import Invalid

type Part = str | list[Any]
type Parts = dict[str, Part]

# Whatever the budget: a page has to move on.
LEAST_ROOM = 100
LONGEST_CUT = 8_192


class PartArguments(Arguments):
    """`part` of a subclass names the parts of its content."""

    part: str | None = None
    budget: Budget = DEFAULT_TOKENS
    cursor: Cursor = None


def within_budget(
    said: str, head: dict[str, Any], parts: Parts, given: PartArguments, build: Callable[[Parts], dict[str, Any]] = dict
) -> Outcome:
    """`head`, which always stays, and what `build` makes of the parts. `omitted` names what is left out, and where it begins."""
    room = given.budget * BYTES_A_TOKEN
    if given.part is not None:
        return _one_part(said, head, parts, given, room - size_of(head))
    if given.cursor is not None:
        raise Invalid("A `cursor` is of one `part`: name that too.", details={"field": "cursor"})
    whole = {**head, **build(parts), "omitted": []}
    if size_of(whole) <= room:
        return stored(said, whole)
    bare = {**head, **build({name: part[:0] for name, part in parts.items()})}
    kept = _beginnings(parts, room - size_of({**bare, "omitted": _omitted(parts, dict.fromkeys(parts, ""))}))
    advice = "For what is `omitted`, call again with its `part` and `cursor`, or with a larger `budget`."
    return stored(f"{said} {advice}", {**head, **build(kept), "omitted": _omitted(parts, kept)})


def _omitted(parts: Parts, kept: Parts) -> list[dict[str, Any]]:
    return [
        {"part": name, "items" if isinstance(part, list) else "characters": left, "cursor": str(len(kept[name]))}
        for name, part in parts.items()
        if (left := len(part) - len(kept[name]))
    ]


def _beginnings(parts: Parts, room: int) -> Parts:
    """Short parts stay whole, long ones share the rest evenly."""
    kept: Parts = {}
    for waiting, name in zip(range(len(parts), 0, -1), sorted(parts, key=lambda name: size_of(parts[name])), strict=True):
        kept[name] = _beginning(parts[name], max(0, room) // waiting)
        room -= size_of(kept[name]) - 2
    return {name: kept[name] for name in parts}


def _beginning(part: Part, room: int) -> Part:
    """Whole items only."""
    if isinstance(part, str):
        return beginning_of(part, room)
    kept: list[Any] = []
    for item in part:
        room -= size_of(item) + 1
        if room < 0:
            break
        kept.append(item)
    return kept


def _one_part(said: str, head: dict[str, Any], parts: Parts, given: PartArguments, room: int) -> Outcome:
    name, room = given.part or "", max(room - 50, LEAST_ROOM)
    part, start = parts.get(name, ""), _position(given.cursor)
    rest = part[start:]
    piece = _beginning(rest, room)
    if rest and not piece:
        # Not even one item: a part of it, so that the next page begins after it.
        piece = rest[:1] if isinstance(rest, str) else [_shortened(rest[0], room)]
    end = start + len(piece)
    unit = "items" if isinstance(part, list) else "characters"
    shown = f" `{name}`: {len(piece)} of {len(part)} {unit}."
    more = " Pass `next` as `cursor` for more." if end < len(part) else ""
    return stored(said + shown + more, {**head, name: piece}, following=str(end) if end < len(part) else None)


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 9):
        raise Invalid("Pass `next` or the `cursor` of `omitted` as it is.", details={"field": "cursor"})
    return int(cursor)


def _shortened(item: Any, room: int) -> Any:
    """The item with its long texts and lists shortened until it fits, marked `cut`."""
    longest = LONGEST_CUT
    while longest:
        shorter = _clipped(item, longest)
        shorter = {**shorter, "cut": True} if isinstance(shorter, dict) else shorter
        if size_of(shorter) <= room:
            return shorter
        longest //= 2
    return {"cut": True}


def _clipped(value: Any, longest: int) -> Any:
    if isinstance(value, dict):
        return {name: _clipped(held, longest) for name, held in value.items()}
    if isinstance(value, list):
        return [_clipped(held, longest) for held in value[:longest]]
    return value[:longest] if isinstance(value, str) else value
