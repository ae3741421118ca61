"""`ai-sdk`: `UIMessage` of the AI SDK, as `useChat` keeps it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sessions_app.formats.fields import list_of, object_of, optional_text, role_in, text_in, unknown
from sessions_app.formats.neutral import (
    DataPart,
    FilePart,
    Neutral,
    Part,
    ReasoningPart,
    SourcePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    parts_of,
    says_error,
)
from sessions_app.formats.writing import (
    Converted,
    Format,
    Stored,
    Turn,
    begin,
    cannot,
    is_step,
    kept,
    output_of,
    own_part,
    prompt_of,
    url_of,
)

NAME = "ai-sdk"
ROLES = ("system", "user", "assistant")
# Parts that this format alone has. They are kept whole.
_OWN = {"source-document", "reasoning-file", "custom", "steering-message"}
_CALL = {"type", "toolCallId", "state", "input", "output", "errorText"}
_KNOWN = {
    "text": frozenset({"type", "text", "state"}),
    "reasoning": frozenset({"type", "text", "state", "providerMetadata", "id"}),
    "file": frozenset({"type", "mediaType", "filename", "url"}),
    "source-url": frozenset({"type", "sourceId", "url", "title"}),
    "step-start": frozenset({"type"}),
}
_STATES = {"input-available", "output-available", "output-error"}


def read(raw: Any) -> Neutral:
    raw = object_of(raw)
    made = Neutral(role_in(raw, ROLES), [])
    optional_text(raw, "id")
    for part in list_of(raw.get("parts"), "`parts`"):
        _read_part(object_of(part, "A part"), made)
    made.left_out += [(None, name) for name in unknown(raw, frozenset({"id", "role", "parts"}))]
    return made


def _read_part(part: dict[str, Any], made: Neutral) -> None:
    kind, number = text_in(part, "type"), len(made.parts)
    if kind in _OWN:
        made.parts.append(kept(NAME, part))
        return
    _check(kind, part)
    if kind.startswith("data-") or kind in _KNOWN:
        made.parts += parts_of(part)
        known = _KNOWN.get(kind, frozenset({"type", "data"}))
    elif kind.startswith("tool-") or kind == "dynamic-tool":
        made.parts += parts_of(part)
        known = frozenset(_CALL | {"toolName"}) if kind == "dynamic-tool" else frozenset(_CALL)
        if kind == "dynamic-tool":
            made.left_out.append((number, "dynamic-tool"))
        if part.get("state") not in _STATES:
            made.left_out.append((number, "state"))
    else:
        made.parts.append(kept(NAME, part))
        return
    made.left_out += [(number, name) for name in unknown(part, known)]


def _check(kind: str, part: dict[str, Any]) -> None:
    """Refuse wrong types in the fields that will be read."""
    if kind in {"text", "reasoning"}:
        text_in(part, "text")
    elif kind == "file":
        text_in(part, "url"), text_in(part, "mediaType"), optional_text(part, "filename")
    elif kind == "source-url":
        text_in(part, "url"), optional_text(part, "title")
    elif kind == "dynamic-tool" or kind.startswith("tool-"):
        text_in(part, "toolCallId"), text_in(part, "state"), optional_text(part, "errorText")
        if kind == "dynamic-tool":
            text_in(part, "toolName")
    elif kind.startswith("data-") and "data" not in part:
        text_in(part, "data")


def write(messages: Sequence[Stored]) -> Converted:
    """Results are written into the parts of their calls, which may be in an earlier message."""
    made = begin(messages)
    calls: dict[str, _Call] = {}
    for stored in messages:
        parts: list[dict[str, Any]] = []
        turn = Turn(stored, stored.neutral.role)
        _add_prompts(made, stored)
        for number, part in stored.numbered():
            if isinstance(part, ToolResultPart):
                _finish(made, turn, number, part, calls.pop(part.id, None))
            elif isinstance(part, ToolCallPart) and turn.role == "assistant":
                call = {"type": f"tool-{part.name}", "toolCallId": part.id, "state": "input-available", "input": part.input}
                parts.append(call)
                calls[part.id] = _Call(call, len(made.items), stored.id)
            elif (item := _part(made, turn, number, part)) is not None:
                parts.append(item)
        _add(made, stored, parts)
    return made


@dataclass(slots=True)
class _Call:
    """A call without a result so far: its part, and the number and id of its message."""

    part: dict[str, Any]
    item: int
    message_id: str


def _add_prompts(made: Converted, stored: Stored) -> None:
    """Instructions inside a message become messages of their own before it."""
    for number, part in stored.numbered():
        if (text := prompt_of(stored, part)) is not None:
            prompt = {"type": "text", "text": text}
            made.add({"id": f"{stored.id}-{number}", "role": "system", "parts": [prompt]}, stored.id)


def _add(made: Converted, stored: Stored, parts: list[dict[str, Any]]) -> None:
    role = stored.neutral.role
    if not parts and stored.neutral.parts:
        return
    if not parts and role != "assistant":
        parts = [{"type": "text", "text": ""}]
    made.add({"id": stored.id, "role": role if role in ROLES else "user", "parts": parts}, stored.id)


def _finish(made: Converted, turn: Turn, number: int, part: ToolResultPart, call: _Call | None) -> None:
    if call is None:
        made.lose(turn.id, number, "There is no open tool call that this result belongs to.")
        return
    if part.is_error and not says_error(part.output):
        call.part |= {"state": "output-error", "errorText": output_of(made, turn, number, part)}
    else:
        call.part |= {"state": "output-available", "output": part.output}
    if call.message_id != turn.id:
        made.extend(call.item, turn.id)


def _part(made: Converted, turn: Turn, number: int, part: Part) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ReasoningPart):
        metadata = part.signature if isinstance(part.signature, dict) else None
        return {"type": "reasoning", "text": part.text} | ({"providerMetadata": metadata} if metadata else {})
    if isinstance(part, FilePart):
        url = url_of(part)
        if url is not None:
            name = {"filename": part.name} if part.name else {}
            return {"type": "file", "mediaType": part.media_type or "application/octet-stream", "url": url} | name
    if isinstance(part, SourcePart):
        title = {"title": part.title} if part.title is not None else {}
        return {"type": "source-url", "sourceId": f"{turn.id}-{number}", "url": part.url} | title
    if prompt_of(turn.stored, part) is not None:
        return None
    if isinstance(part, DataPart):
        return _data(turn, part)
    cannot(made, turn, number, part)
    return None


def _data(turn: Turn, part: DataPart) -> dict[str, Any]:
    """What this format has itself, or the data of the part: a step also of messages that are stored as parts alone."""
    if is_step(part) or (own := own_part(turn, part, NAME)) is None:
        kind = part.name if part.name.startswith("data-") else f"data-{part.name}"
        return {"type": "step-start"} if is_step(part) else {"type": kind, "data": part.value}
    return own


def detect(raw: Any) -> bool:
    if not isinstance(raw, dict) or raw.get("role") not in ROLES or "content" in raw or not isinstance(raw.get("parts"), list):
        return False
    return all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in raw["parts"])


FORMAT = Format(NAME, ROLES, read, write, detect, results_inside=True)
