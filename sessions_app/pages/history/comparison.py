"""Two lists of messages side by side: which are the same, which differ and in what words. The time is bounded."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

import orjson

from sessions_app.agents.handoff.comparison import Piece, words_between
from sessions_app.chats.reading.frameworks.conversion import stored_value
from sessions_app.core.web.template_tags.formatting import speaker
from sessions_app.pages.session.parts.room import Room
from sessions_app.pages.session.parts.tools import Tool, tool_of

# Seconds for the words of all messages of a page. What is left then is shown as two texts.
SECONDS = 0.3
# Longer texts are not compared by words, and shown up to here.
LONGEST = 8_000
# Of a message, that are looked through for tools.
MOST_PARTS = 50


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a pair. `pieces`: its text, with what the other side does not have marked. `tools`: its calls and results,
    with what they were given and returned where the sides differ; those in `unlike` are all that differs."""

    position: int
    who: str
    created_at: str
    pieces: list[Piece]
    cut: int = 0
    tools: list[Tool] = field(default_factory=list)
    unlike: list[Tool] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pair:
    """`how`: same, changed, removed (only on the left) or added. `whole`: the words were not compared."""

    how: str
    left: Side | None = None
    right: Side | None = None
    whole: bool = False
    parts_differ: bool = False


@dataclass(frozen=True, slots=True)
class _Limits:
    """Of one page: when no more words are compared, and how much of tools is shown."""

    until: float
    room: Room = field(default_factory=Room)

    @property
    def over(self) -> bool:
        return time.thread_time() > self.until


@dataclass(slots=True)
class Comparison:
    """`pairs`: a run of same messages is one, with `same` of them."""

    pairs: list[Pair] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: {"same": 0, "changed": 0, "removed": 0, "added": 0})


def compared(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Comparison:
    """Messages as `reading.messages` returns them, at most a few hundred on each side."""
    made, limits = Comparison(), _Limits(time.thread_time() + SECONDS)
    for old, new in _aligned(left, right):
        pair = _pair(old, new, limits)
        made.counts[pair.how] += 1
        made.pairs.append(pair)
    return made


def _aligned(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> Iterator[tuple[Any, Any]]:
    """Pairs in order: by id, as forks keep it; in sessions that have no ids in common, by role and text."""
    common = {item["id"] for item in left} & {item["id"] for item in right}
    old_keys, new_keys = ([item["id"] if common else (item["role"], item["text"]) for item in items] for items in (left, right))
    matcher = SequenceMatcher[Any](None, old_keys, new_keys, autojunk=False)
    for how, start, end, other_start, other_end in matcher.get_opcodes():
        olds, news = left[start:end], right[other_start:other_end]
        if how == "equal" or (how == "replace" and not common and _roles(olds) == _roles(news)):
            yield from zip(olds, news, strict=True)
        else:
            yield from ((old, None) for old in olds)
            yield from ((None, new) for new in news)


def _roles(items: Sequence[dict[str, Any]]) -> list[str]:
    return [item["role"] for item in items]


def _pair(old: dict[str, Any] | None, new: dict[str, Any] | None, limits: _Limits) -> Pair:
    if old is None or new is None:
        kind = "new" if old is None else "gone"
        [left, right] = [
            None if item is None else _side(item, [Piece(kind, item["text"][:LONGEST])], limits) for item in (old, new)
        ]
        return Pair("added" if old is None else "removed", left, right)
    parts_differ = orjson.dumps(old["parts"]) != orjson.dumps(new["parts"])
    if old["text"] == new["text"]:
        how = "changed" if parts_differ else "same"
        same = [Piece("same", old["text"][:LONGEST])]
        left, right = (_side(item, same, limits, whole_tools=parts_differ) for item in (old, new))
        left.unlike[:] = [tool for tool in left.tools if tool not in right.tools]
        right.unlike[:] = [tool for tool in right.tools if tool not in left.tools]
        return Pair(how, left, right, parts_differ=parts_differ)
    if limits.over or max(len(old["text"]), len(new["text"])) > LONGEST:
        return Pair(
            "changed",
            _side(old, [Piece("gone", old["text"][:LONGEST])], limits),
            _side(new, [Piece("new", new["text"][:LONGEST])], limits),
            whole=True,
        )
    pieces = words_between(old["text"], new["text"])
    kept = [[piece for piece in pieces if piece.kind != other] for other in ("new", "gone")]
    return Pair("changed", _side(old, kept[0], limits), _side(new, kept[1], limits))


def _side(item: dict[str, Any], pieces: list[Piece], limits: _Limits, *, whole_tools: bool = True) -> Side:
    cut = max(0, len(item["text"]) - LONGEST)
    tools = [] if limits.over else _tools(item, limits.room if whole_tools else None)
    return Side(item["position"], speaker(item["role"], item.get("format")), item["created_at"], pieces, cut, tools)


def _tools(item: dict[str, Any], room: Room | None) -> list[Tool]:
    """What a message did beside its words. Outputs may be long, so the time for reading them is limited too."""
    parts = stored_value(item["parts"])
    if not isinstance(parts, list):
        return []
    return [tool for part in parts[:MOST_PARTS] if isinstance(part, dict) and (tool := tool_of(part, room)) is not None]
