"""What a long session consists of: its questions, tool calls, failures and compactions, each in one line."""

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from sessions_app.chats.reading.messages import page_after
from sessions_app.models.live import Live
from sessions_app.models.message import Role, Status, common_role
from sessions_app.pages.session.parts.results import with_results
from sessions_app.pages.session.parts.tools import short, tool_of

SECONDS = 0.12
MESSAGES_A_READ = 100
TURNS, TOOLS, ERRORS, COMPACTIONS = "turns", "tools", "errors", "compactions"
KINDS = {"": "All", TURNS: "Questions", TOOLS: "Tools", ERRORS: "Failures", COMPACTIONS: "Compactions"}


@dataclass(frozen=True, slots=True)
class Line:
    """`name`: of a tool, else empty. A failed call is a line of kind ERRORS, shown among the tools as well."""

    kind: str
    message_id: str
    position: int
    created_at: str
    text: str
    name: str = ""


@dataclass(slots=True)
class Outline:
    """Oldest first. `next`: the position after which it goes on; None: it is complete."""

    lines: list[Line] = field(default_factory=list)
    next: int | None = None


def outline_of(*, session_id: uuid.UUID, live: Live, after: int, kind: str, limit: int) -> Outline:
    """Lines of one kind, or of all (""), after a position. A time limit may end it early: then it goes on at `next`."""
    made, until = Outline(next=after), time.monotonic() + SECONDS
    while made.next is not None and len(made.lines) < limit and time.monotonic() < until:
        page = page_after(session_id=session_id, live=live, position=made.next, limit=MESSAGES_A_READ)
        parts = _joined_parts(page.items, whole=not page.more)
        made.next = page.items[len(parts) - 1]["position"] if page.more and page.items else None
        made.lines += [line for line in _lines(page.items, parts) if _wanted(line, kind)]
    return made


def _joined_parts(items: list[dict[str, Any]], *, whole: bool) -> list[list[Any]]:
    """Of messages in sequence: a call has its result, which is often in a later message. Unless these are the `whole` rest, it
    ends before a call in the second half whose result may follow: the next read begins there."""
    parts: list[list[Any]] = [json.loads(orjson.dumps(item["parts"])) for item in items]
    half = max(len(parts) // 2, 1)
    while True:
        joined = with_results(parts)
        end = next((number for number in range(half, len(joined)) if any(map(_is_open, joined[number]))), None)
        if whole or end is None:
            return joined
        parts = parts[:end]


def _is_open(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_call" and "result" not in part


def _wanted(line: Line, kind: str) -> bool:
    return not kind or line.kind == kind or (kind == TOOLS and bool(line.name))


def _lines(items: list[dict[str, Any]], parts: list[list[Any]]) -> Iterator[Line]:
    """Of the first messages, whose parts these are. A call's line says whether its result was a failure."""
    for item, own in zip(items, parts, strict=False):
        place = (item["id"], item["position"], item["created_at"])
        tools = [tool for part in own if isinstance(part, dict) and (tool := tool_of(part)) is not None]
        if _is_compaction(item, own):
            yield Line(COMPACTIONS, *place, short(item["text"]) or "The context was compacted")
        elif common_role(item["role"]) == Role.USER and item["text"]:
            yield Line(TURNS, *place, short(item["text"]))
        for tool in tools:
            yield Line(ERRORS if tool.failed else TOOLS, *place, tool.argument, tool.name)
        if item["status"] == Status.INTERRUPTED:
            yield Line(ERRORS, *place, "The answer was interrupted")


def _is_compaction(item: dict[str, Any], parts: list[Any]) -> bool:
    names = [str(part.get(name, "")) for part in parts if isinstance(part, dict) for name in ("type", "name")]
    metadata = json.loads(orjson.dumps(item.get("metadata", {})))
    return any("compact" in name.lower() for name in (*names, *(metadata if isinstance(metadata, dict) else ())))
