"""The two formats of assistant-ui's rows, and how pages and search show them. The content itself is kept as it is."""

from typing import Any

import orjson

from sessions_app.chats.reading.frameworks.conversion import stored_value
from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.models.message import ROLES, TEXT_LENGTH

# Of `useChatRuntime` and of assistant-ui's own runtimes.
AI_SDK, AUI = "ai-sdk/v6", "aui/v0"
# What Stillhere calls it: its messages are those of other clients of the AI SDK.
_OWN_AI_SDK = "ai-sdk"
_SHOWN_ROLES = {
    **dict.fromkeys(("user", "human", "request"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "response"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
}
_UI_PARTS = ("text", "reasoning", "file", "source-url", "source-document", "step-start", "dynamic-tool")
_UI_PREFIXES = ("tool-", "data-")


def format_of(stored: str | None) -> str:
    """What rows call a format: messages without one are shown as the AI SDK's."""
    return AI_SDK if stored in {None, _OWN_AI_SDK} else stored or AI_SDK


def fields_of(form: str, content: dict[str, Any]) -> dict[str, Any]:
    """The fields of a message that is saved."""
    if form == AI_SDK:
        return {"format": _OWN_AI_SDK, "raw": content}
    role = content.get("role")
    made = {"format": form, "raw": content, "role": role if role in ROLES else "assistant"}
    said = content.get("content")
    parts = [part for each in (said if isinstance(said, list) else []) for part in _parts(each)]
    text = clean_text(said if isinstance(said, str) else "".join(part["text"] for part in parts if part["type"] == "text"))
    plain = all(part["type"] == "text" for part in parts) and len(text) <= TEXT_LENGTH
    return {**made, "text": text[:TEXT_LENGTH]} | ({} if plain else {"parts": parts})


def content_of(item: dict[str, Any], wanted: str | None) -> tuple[str, Any] | None:
    """Format and content of a message; None if it cannot be read in the `wanted` format. What was sent comes back as it was."""
    form = format_of(item.get("format"))
    if form != AI_SDK and "raw" in item and wanted in {None, form}:
        return form, item["raw"]
    if wanted not in {None, AI_SDK} or form == AUI:
        return None
    if form == AI_SDK and "raw" in item:
        return form, _without_other_id(item)
    role = _SHOWN_ROLES.get(item["role"])
    if role is None:
        return None
    shown = [part for part in stored_value(item["parts"]) if _is_ui_part(part)] or [{"type": "text", "text": item["text"]}]
    metadata = {"metadata": item["metadata"]} if "metadata" in item else {}
    return AI_SDK, {"role": role, "parts": shown, **metadata}


def _without_other_id(item: dict[str, Any]) -> Any:
    """A page decodes a row to its id and its content: an id in the content, which other clients store, would replace it."""
    raw = stored_value(item["raw"])
    if isinstance(raw, dict) and raw.get("id", item["id"]) != item["id"]:
        return {name: value for name, value in raw.items() if name != "id"}
    return item["raw"] if isinstance(item["raw"], orjson.Fragment) else raw


def _is_ui_part(part: dict[str, Any]) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and (kind in _UI_PARTS or kind.startswith(_UI_PREFIXES))


def _parts(part: Any) -> list[dict[str, Any]]:
    """A part of an `aui/v0` message in the neutral form."""
    match part:
        case {"type": "text" | "reasoning" as kind, "text": str(text)}:
            return [{"type": kind, "text": text}]
        case {"type": "tool-call", "toolCallId": str(call_id), "toolName": str(name)}:
            call = {"type": "tool_call", "id": call_id, "name": name, "input": part.get("args")}
            failed = part.get("isError") is True
            output = {"type": "tool_result", "id": call_id, "output": part.get("result"), "is_error": failed}
            return [call, output] if "result" in part else [call]
        case {"type": "source", "url": str(url)}:
            return [
                {"type": "source-url", "sourceId": str(part.get("id", url)), "url": url, "title": str(part.get("title", url))}
            ]
        case {"type": "image" | "file"}:  # Its content is in the row already.
            media_type = str(part.get("mimeType") or "image/*")
            return [{"type": "file", "media_type": media_type, "name": str(part.get("filename") or "file")}]
    return []
