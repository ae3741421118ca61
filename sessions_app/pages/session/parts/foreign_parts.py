"""Tool calls as agents' own files have them, in the shape that the formats know. Such parts are saved as they are."""

from typing import Any


def as_known(part: dict[str, Any]) -> dict[str, Any]:
    """The part, or what it says of a tool: pi's `toolCall`, OpenCode's `tool`; also within a `data` part."""
    value = part.get("value") if part.get("type") == "data" else part
    if not isinstance(value, dict):
        return part
    match value:
        case {"type": "toolCall", "name": str(name)}:
            return {"type": "tool_call", "id": str(value.get("id", "")), "name": name, "input": value.get("arguments")}
        case {"type": "tool", "tool": str(name), "state": dict(state)}:
            return _of_opencode(str(value.get("callID", "")), name, state)
    return part


def _of_opencode(call_id: str, name: str, state: dict[str, Any]) -> dict[str, Any]:
    call = {"type": "tool_call", "id": call_id, "name": name, "input": state.get("input")}
    failed = state.get("status") == "error"
    if not failed and state.get("status") != "completed":
        return call
    output = state.get("error") if failed else state.get("output")
    result: dict[str, Any] = {"type": "tool_result", "id": call_id, "output": output, "is_error": failed}
    match state.get("time"):
        case {"start": int(start), "end": int(end)} if end > start:
            result["duration_ms"] = end - start
    return {**call, "result": result}
