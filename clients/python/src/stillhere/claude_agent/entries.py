"""What an entry of a transcript says, for pages and search. The entry itself is kept as it is."""

from typing import Any

FORMAT = "claude-code"
# Entries that are no messages: what of them is shown.
_TEXTS = ("content", "summary", "customTitle", "aiTitle", "lastPrompt", "tag")


def as_message(message_id: str, entry: Any) -> dict[str, Any]:
    """The fields of a message: `{id, role, text, format, raw, parts?}`."""
    made = {"id": message_id, "format": FORMAT, "raw": entry}
    said = entry.get("message")
    kind = entry.get("type")
    if kind not in ("user", "assistant") or not isinstance(said, dict):
        text = next((entry[name] for name in _TEXTS if isinstance(entry.get(name), str)), "")
        return {**made, "role": "system", "text": f"{kind}: {text}" if text else str(kind)}
    content = said.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    parts = [part for block in blocks if isinstance(block, dict) and (part := _part(block)) is not None]
    kinds = {part["type"] for part in parts}
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    if kinds <= {"text"}:  # What the program says as the user, such as a command's output, is a note.
        return {**made, "role": "system" if entry.get("isMeta") is True else kind, "text": text}
    return {**made, "role": "tool" if kinds == {"tool_result"} else kind, "text": text, "parts": parts}


def _part(block: dict[str, Any]) -> dict[str, Any] | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "thinking", "thinking": str(text)}:
            return {"type": "reasoning", "text": text}
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            return {"type": "tool_call", "id": call_id, "name": name, "input": block.get("input")}
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            failed = block.get("is_error") is True
            return {"type": "tool_result", "id": call_id, "output": block.get("content"), "is_error": failed}
        case {"type": "image", "source": dict(source)}:  # Its content is in the entry already.
            return {"type": "file", "media_type": str(source.get("media_type") or "image/*"), "name": "image"}
    return None
