"""Cuts a response of several sections to a size: small sections stay whole, large ones share the rest evenly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

type Kept = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Section:
    """`build` makes the section's value from the kept items of each list; its other content is always kept.

    `count`: the number of items, if `lists` does not have them all; `href`: where to read the omitted ones.
    """

    name: str
    build: Callable[[Kept], Any]
    lists: dict[str, list[Any]]
    href: str = ""
    count: int | None = None

    @property
    def total(self) -> int:
        return sum(len(items) for items in self.lists.values()) if self.count is None else self.count


def cut(head: dict[str, Any], sections: Sequence[Section], size_bytes: int) -> dict[str, Any]:
    """`head`, the sections in their order, and `omitted`, as JSON of at most `size_bytes` (head and bounds always stay)."""
    bare = _answer(head, [(section, {name: [] for name in section.lists}) for section in sections])
    sizes = [[_sized(items) for items in section.lists.values()] for section in sections]
    wanted = [sum(size for items in lists for _, size in items) for lists in sizes]
    shares = _shares(wanted, size_bytes - len(orjson.dumps(bare)))
    kept = [
        (section, _keep(dict(zip(section.lists, lists, strict=True)), share))
        for section, lists, share in zip(sections, sizes, shares, strict=True)
    ]
    return _answer(head, kept)


def _answer(head: dict[str, Any], kept: list[tuple[Section, Kept]]) -> dict[str, Any]:
    left_out = [(section, section.total - sum(len(items) for items in lists.values())) for section, lists in kept]
    omitted = [{"section": section.name, "count": count, "href": section.href} for section, count in left_out if count > 0]
    return {**head, **{section.name: section.build(lists) for section, lists in kept}, "omitted": omitted}


def _sized(items: list[Any]) -> list[tuple[Any, int]]:
    """The items with their size in bytes within a list, including the comma."""
    return [(item, len(orjson.dumps(item)) + 1) for item in items]


def _shares(wanted: list[int], room: int) -> list[int]:
    """Lists that need less than an even share get all they need; the others share the rest."""
    shares = [0] * len(wanted)
    waiting = sorted(range(len(wanted)), key=lambda at: wanted[at])
    while waiting and room > 0:
        at = waiting.pop(0)
        shares[at] = min(wanted[at], room // (len(waiting) + 1))
        room -= shares[at]
    return shares


def _keep(lists: dict[str, list[tuple[Any, int]]], room: int) -> Kept:
    """Keeps items in order; an item that is too large is skipped, since the next one may fit."""
    kept: Kept = {}
    for name, items in lists.items():
        kept[name] = []
        for item, size in items:
            if size <= room:
                kept[name].append(item)
                room -= size
    return kept
