"""Calls of tools as endpoints stream them: in pieces, the name first, then the arguments as a growing JSON text.

Most number their calls. Some leave the number out, or give all calls the same one: then the id, or a name, begins a call.
"""

from typing import Any

from generation_app.generations.model.pieces import EndpointFailed
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.strict_json import UnreadableJson, loads

type Call = dict[str, str]
# Of all calls of an answer together, each counted with what is around it: an endpoint that ends none would fill the memory.
LENGTH, CALL_LENGTH = 1_000_000, 100


class ToolCalls:
    """In the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        # The newest call under each number.
        self._numbered: dict[int, Call] = {}
        self._length = 0

    def add(self, deltas: Any) -> None:
        """`deltas`: whatever the endpoint sent as `tool_calls`. Raises EndpointFailed if they are too large."""
        for delta in deltas if isinstance(deltas, list) else ():
            if isinstance(delta, dict):
                self._add(delta)

    def whole(self) -> list[dict[str, Any]]:
        return [
            {"id": call["id"] or f"call_{number}", "name": call["name"], "input": _input(call["arguments"])}
            for number, call in enumerate(self._calls)
        ]

    def _add(self, delta: dict[str, Any]) -> None:
        index, call_id, function = delta.get("index"), str(delta.get("id") or ""), delta.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = str(function.get("name") or ""), function.get("arguments") or ""
        call = self._numbered.get(index) if isinstance(index, int) else self._unnumbered(call_id)
        if call is None or _is_another(call, call_id, name, numbered=isinstance(index, int)):
            call = {"id": "", "name": "", "arguments": ""}
            self._calls.append(call)
            self._length += CALL_LENGTH + len(call_id)
        if isinstance(index, int):
            self._numbered[index] = call
        call["id"] = call["id"] or call_id
        call["name"] += name
        said = arguments if isinstance(arguments, str) else json_text(arguments)
        call["arguments"] += said
        self._length += len(name) + len(said)
        if self._length > LENGTH:
            raise EndpointFailed("The calls of tools are larger than a message can hold.")

    def _unnumbered(self, call_id: str) -> Call | None:
        """The call with this id, or the last one."""
        same = (call for call in self._calls if call_id and call["id"] == call_id)
        return next(same, self._calls[-1] if self._calls else None)


def _is_another(call: Call, call_id: str, name: str, *, numbered: bool) -> bool:
    """Does this piece begin a call, and not continue that one? Some endpoints give every piece of a call another id."""
    if not name or not call["name"]:
        return False
    return bool(call_id and call["id"] and call_id != call["id"]) if numbered else not call_id or call_id != call["id"]


def _input(arguments: str) -> Any:
    """Their value, numbers as they were written; what is no JSON that can be stored stays a text."""
    try:
        return loads((arguments or "{}").encode(), within="metadata")[0]
    except UnreadableJson:
        return arguments
