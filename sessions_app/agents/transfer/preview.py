"""The preview of a transfer as text: what the target has now, and what it would have."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

WORDS = {
    "added": "new there",
    "same": "there already",
    "replaced": "overwritten",
    "merged": "merged",
    "kept": "stays as it is",
}
# Messages never replace those of the target.
BEHIND = "added behind its own"
COLOURS = {"added": "good", "merged": "warn", "replaced": "bad"}
DONE = {"completed", "skipped"}
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    told: str
    colour: str
    now: str
    then: str


@dataclass(frozen=True, slots=True)
class Preview:
    """`in_the_way`: the target's conflicting content, if nothing may be overwritten. `undoable`: as a whole, afterwards."""

    rows: list[Row] = field(default_factory=list)
    in_the_way: list[str] = field(default_factory=list)
    ready: bool = False
    moves: bool = False
    undoable: bool = False


def preview_of(carried: list[dict[str, Any]], *, moves: bool, undoable: bool) -> Preview:
    rows = [
        Row(
            what=_what(item),
            told=BEHIND if _adds_to_messages(item) else WORDS[item["how"]],
            colour=COLOURS.get(item["how"], ""),
            now=SHOWN[item["kind"]](item["now"]),
            then=SHOWN[item["kind"]](item["then"]),
        )
        for item in carried
    ]
    return Preview(rows=rows, ready=True, moves=moves, undoable=undoable)


def _adds_to_messages(item: dict[str, Any]) -> bool:
    return item["kind"] == "messages" and item["how"] == "added" and bool(item["now"]["message_count"])


def in_the_way(details: dict[str, Any]) -> Preview:
    return Preview(in_the_way=[_what(item) for item in details.get("in_the_way", [])])


def _what(item: dict[str, Any]) -> str:
    if item["kind"] == "ai_state":
        return str(item["ai_id"])
    names = {"agent_state": "Agent state", "opening_step": "Opening step", "messages": "Messages"}
    conflicts = f", {item['conflicts']:,} as conflict copies" if item.get("conflicts") else ""
    return names[item["kind"]] + conflicts


def _ai_state(state: dict[str, Any] | None) -> str:
    state = state or {}
    told = [_counted(state["todos"], "todo")] if state.get("todos") else []
    told += [name for field, name in (("working_notes", "notes"), ("context_summary", "summary")) if state.get(field)]
    return ", ".join(told) or NOTHING


def _agent_state(state: dict[str, Any] | None) -> str:
    state = state or {}
    told = [f"plan of {_counted(state['plan'].get('steps', []), 'step')}"] if state.get("plan") else []
    told += [f"question “{state['pending_action']['kind']}”"] if state.get("pending_action") else []
    names = (("context", "context"), ("pr_data", "pull request"), ("last_error", "last error"))
    return ", ".join([*told, *(name for field, name in names if state.get(field))]) or NOTHING


def _counted(items: list[dict[str, Any]], one: str) -> str:
    done = sum(item["status"] in DONE for item in items)
    return f"{len(items):,} {one}{'' if len(items) == 1 else 's'} ({done:,} done)"


def _messages(state: dict[str, Any]) -> str:
    count = state["message_count"]
    return f"{count:,} message{'' if count == 1 else 's'}" if count else NOTHING


SHOWN: dict[str, Callable[[Any], str]] = {
    "ai_state": _ai_state,
    "agent_state": _agent_state,
    "messages": _messages,
    "opening_step": lambda step: step or NOTHING,
}
