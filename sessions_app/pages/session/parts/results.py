"""Results of tools, which are often messages of their own, put into the calls that they answer."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

type Calls = dict[str, tuple[dict[str, Any], str]]


def with_results(messages: list[list[Any]], times: Sequence[str] | None = None) -> list[list[Any]]:
    """The parts of messages in sequence. A result becomes the `result` of its call, if that is among them and came before.

    `times` of the messages: then a call has in `took_ms` how much later its result was.
    """
    calls: Calls = {}
    found = []
    for number, parts in enumerate(messages):
        at = times[number] if times else ""
        found.append([own for part in parts if (own := _answered(part, calls, at)) is not None])
    return found


def _answered(part: Any, calls: Calls, at: str) -> Any:
    kind, id_ = (part.get("type"), part.get("id")) if isinstance(part, dict) else (None, None)
    if kind == "tool_call" and isinstance(id_, str):
        calls[id_] = (dict(part), at)
        return calls[id_][0]
    if kind == "tool_result" and isinstance(id_, str) and (known := calls.pop(id_, None)) is not None:
        call, asked = known
        call["result"] = part
        if asked and at and asked != at:
            call["took_ms"] = (datetime.fromisoformat(at) - datetime.fromisoformat(asked)).total_seconds() * 1_000
        return None
    return part
