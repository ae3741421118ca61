"""Events as messages: what they say for pages and search, and the event itself as it is."""

import json
import uuid
from typing import Any

from google.adk.events.event import Event
from google.adk.sessions.state import State

from stillhere.operations.long_objects import LONGEST_ID, upserts_of

FORMAT = "adk"


def as_ops(event: Event, message_id: str) -> list[dict[str, Any]]:
    """The operations that store it, without its temporary state."""
    raw: dict[str, Any] = json.loads(_without_temporary_state(event).model_dump_json(exclude_none=True))
    own_id = message_id if 0 < len(message_id) <= LONGEST_ID else str(uuid.uuid5(uuid.NAMESPACE_OID, message_id))
    return upserts_of({"id": own_id, "format": FORMAT, "raw": raw, **_shown(raw)})


def as_event(raw: Any) -> Event:
    return Event.model_validate_json(json.dumps(raw))


def text_of(content: Any) -> str:
    """`content`: its JSON."""
    return " ".join(part["text"] for part in _parts_of(content) if isinstance(part.get("text"), str) and part["text"])


def _without_temporary_state(event: Event) -> Event:
    """A copy: ADK takes it away from the event itself once that is stored."""
    kept = {name: value for name, value in event.actions.state_delta.items() if not name.startswith(State.TEMP_PREFIX)}
    return event.model_copy(update={"actions": event.actions.model_copy(update={"state_delta": kept})})


def _parts_of(content: Any) -> list[dict[str, Any]]:
    parts = content.get("parts") if isinstance(content, dict) else None
    return [part for part in parts or [] if isinstance(part, dict)]


def _shown(raw: dict[str, Any]) -> dict[str, Any]:
    parts = [shown for part in _parts_of(raw.get("content")) if (shown := _part(part)) is not None]
    if not parts:
        changed = ", ".join(raw.get("actions", {}).get("state_delta", {}))
        return {"role": "system", "text": raw.get("error_message") or (f"State: {changed}" if changed else "Event")}
    kinds = {part["type"] for part in parts}
    role = "tool" if kinds == {"tool_result"} else "user" if raw.get("author") == "user" else "assistant"
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    return {"role": role, "text": text, **({} if kinds == {"text"} else {"parts": parts})}


def _part(part: dict[str, Any]) -> dict[str, Any] | None:
    match part:
        case {"text": str(text)}:
            return {"type": "reasoning" if part.get("thought") else "text", "text": text}
        case {"function_call": {"name": str(name)} as call}:
            return {"type": "tool_call", "id": call.get("id") or "", "name": name, "input": call.get("args") or {}}
        case {"function_response": {"name": str(name)} as answer}:
            return {"type": "tool_result", "id": answer.get("id") or "", "name": name, "output": answer.get("response")}
        case {"inline_data": dict(file)} | {"file_data": dict(file)}:
            return {"type": "file", "media_type": file.get("mime_type") or "", "name": file.get("display_name") or "file"}
    return None
