"""Pages that are read for a model: one grows at its ends such that no tool call is parted from its result."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from sessions_app.chats.reading.branches import find_place, path_to
from sessions_app.chats.reading.frameworks.conversion import said_by
from sessions_app.chats.reading.messages import Page, page_after, page_before
from sessions_app.formats.neutral import ToolCallPart, ToolResultPart
from sessions_app.models.live import Live

# Messages by which a page grows at each end.
MOST = 100

type Item = dict[str, Any]
# The messages beside one.
type Beside = Callable[[Item], Page]


def with_whole_calls(page: Page, *, session_id: uuid.UUID, live: Live, head: str | None = None, is_end: bool = False) -> Page:
    """`head`: whose path the page is of; None: that of the session. `is_end`: there is nothing after the page.

    `more` stays what it says of the end that it is about: it is the older one unless the page was read forwards.
    """
    if not page.items:
        return page
    own: dict[str, Any] = {"session_id": session_id, "live": live}

    def older(item: Item) -> Page:
        if head is None:
            return page_before(**own, position=item["position"], limit=MOST, within_bytes=True)
        return path_to(**own, head=head, before=find_place(**own, message_id=item["id"]), limit=MOST)

    def newer(item: Item) -> Page:
        if head is None:
            return page_after(**own, position=item["position"], limit=MOST, within_bytes=True)
        path = path_to(**own, head=head, before=None, limit=MOST)
        return replace(path, items=[one for one in path.items if one["position"] > item["position"]])

    return _grown_back(page if is_end else _grown_on(page, newer), older)


def whole_calls_after(page: Page, *, session_id: uuid.UUID, live: Live) -> Page:
    """As `with_whole_calls`, for a page that was read forwards: `more` is of its newer end."""
    whole = with_whole_calls(page, session_id=session_id, live=live)
    if not page.more or whole.items[-1:] == page.items[-1:]:
        return replace(whole, more=page.more)
    rest = page_after(session_id=session_id, live=live, position=whole.items[-1]["position"], limit=1)
    return replace(whole, more=bool(rest.items))


def _grown_back(page: Page, older: Beside) -> Page:
    """With the calls whose results it begins with."""
    items, rest = page.items, None
    while lost := _ends(items)[0]:
        if rest is None:
            found = older(items[0])
            rest, skipped, more = found.items, found.skipped, found.more
        at = next((number for number in reversed(range(len(rest))) if lost & _calls(rest[number])), None)
        if at is None:
            break
        items, rest = rest[at:] + items, rest[:at]
    if items is page.items or rest is None:
        return page
    return Page(items, [*skipped, *page.skipped], more or bool(rest))


def _grown_on(page: Page, newer: Beside) -> Page:
    """With the results of the calls that it ends with."""
    items, rest = page.items, None
    while opened := _ends(items)[1]:
        rest = newer(items[-1]).items if rest is None else rest
        at = _first_result(rest, opened)
        if at is None:
            break
        items, rest = items + rest[: at + 1], rest[at + 1 :]
    return page if items is page.items else replace(page, items=items)


def _ends(items: list[Item]) -> tuple[set[str], set[str]]:
    """The ids of results without a call before them, and of calls without a result. '' is of those without an id."""
    opened, lost = Counter[str](), set[str]()
    for part in (part for item in items for part in _tools(item)):
        if isinstance(part, ToolCallPart):
            opened[part.id] += 1
        elif opened[part.id]:
            opened[part.id] -= 1
        else:
            lost.add(part.id)
    return lost, {each for each, count in opened.items() if count}


def _first_result(items: list[Item], opened: set[str]) -> int | None:
    """A call that uses an id again gets the results that follow it."""
    for number, item in enumerate(items):
        for part in _tools(item):
            if isinstance(part, ToolCallPart):
                opened = opened - {part.id}
            elif part.id in opened:
                return number
    return None


def _calls(item: Item) -> set[str]:
    return {part.id for part in _tools(item) if isinstance(part, ToolCallPart)}


def _tools(item: Item) -> Iterator[ToolCallPart | ToolResultPart]:
    neutral = said_by(item).neutral
    for part in neutral.parts:
        if isinstance(part, ToolResultPart) or (isinstance(part, ToolCallPart) and neutral.role == "assistant"):
            yield part
