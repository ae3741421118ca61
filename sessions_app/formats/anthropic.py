"""`anthropic`: messages of the Messages API, as they are sent and as they are received."""

from collections.abc import Callable, Sequence
from typing import Any

from sessions_app.formats.fields import (
    Unreadable,
    count_in,
    object_of,
    optional_object,
    optional_text,
    role_in,
    text_in,
    unknown,
)
from sessions_app.formats.neutral import (
    FilePart,
    Neutral,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from sessions_app.formats.writing import (
    Converted,
    Format,
    Stored,
    Turn,
    begin,
    cannot,
    kept,
    limited_id,
    lose_name,
    lose_signature,
    object_input,
    output_of,
    own_part,
    single_text,
    turns_of,
)

NAME = "anthropic"
ROLES = ("user", "assistant", "system")
PICTURES = {"image/jpeg", "image/png", "image/gif", "image/webp"}
# `id`, `type` and `container` of a received message are its envelope, not its content.
_KNOWN = frozenset({"role", "content", "model", "usage", "id", "type", "stop_reason", "stop_sequence", "container"})
# Of `openai.chat`, to which some libraries add `cache_control`.
_NEVER_HERE = {"image_url", "input_audio", "file", "refusal"}
_ONLY_HERE = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document", "search_result"}


def read(raw: Any) -> Neutral:
    raw = object_of(raw)
    made = Neutral(role_in(raw, ROLES), [])
    content = raw.get("content")
    if isinstance(content, str):
        made.parts += [TextPart(content)] if content else []
    elif isinstance(content, list):
        for block in content:
            _read_block(object_of(block, "A part of `content`"), made)
    else:
        raise Unreadable("`content` is a text or a list of parts.")
    if made.parts and made.role == "user" and all(isinstance(part, ToolResultPart) for part in made.parts):
        made.role = "tool"
    made.model = optional_text(raw, "model")
    if usage := optional_object(raw, "usage"):
        made.usage = Usage(*(count_in(usage, name) for name in ("input_tokens", "output_tokens", "cache_read_input_tokens")))
    made.left_out += [(None, name) for name in unknown(raw, _KNOWN)]
    return made


def _read_block(block: dict[str, Any], made: Neutral) -> None:
    kind = block.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None or (part := reader[0](block)) is None:
        made.parts.append(kept(NAME, block))
        return
    made.left_out += [(len(made.parts), name) for name in unknown(block, reader[1])]
    made.parts.append(part)


def _read_call(block: dict[str, Any]) -> Part:
    return ToolCallPart(text_in(block, "id"), text_in(block, "name"), block.get("input"))


def _read_result(block: dict[str, Any]) -> Part:
    # Some agents write objects here, although the API takes texts and lists only.
    content = block.get("content")
    return ToolResultPart(text_in(block, "tool_use_id"), "" if content is None else content, block.get("is_error") is True)


def _read_thinking(block: dict[str, Any]) -> Part:
    signature = optional_text(block, "signature")
    return ReasoningPart(text_in(block, "thinking"), {NAME: {"signature": signature}} if signature else None)


def _read_file(block: dict[str, Any]) -> Part | None:
    """An image or a document; None if it is of a kind that only this format has."""
    source = object_of(block.get("source"), "`source`")
    kind, name = source.get("type"), optional_text(block, "title")
    if kind == "base64":
        return FilePart(text_in(source, "media_type"), name, data=text_in(source, "data"))
    if kind == "url":
        return FilePart("image/*" if block["type"] == "image" else "application/pdf", name, url=text_in(source, "url"))
    return None


_READERS: dict[str, tuple[Callable[[dict[str, Any]], Part | None], frozenset[str]]] = {
    "text": (lambda block: TextPart(text_in(block, "text")), frozenset({"type", "text"})),
    "thinking": (_read_thinking, frozenset({"type", "thinking", "signature"})),
    "redacted_thinking": (
        lambda block: ReasoningPart("", {NAME: {"redactedData": text_in(block, "data")}}),
        frozenset({"type", "data"}),
    ),
    "tool_use": (_read_call, frozenset({"type", "id", "name", "input"})),
    "tool_result": (_read_result, frozenset({"type", "tool_use_id", "content", "is_error"})),
    "image": (_read_file, frozenset({"type", "source"})),
    "document": (_read_file, frozenset({"type", "source", "title"})),
}


def write(messages: Sequence[Stored]) -> Converted:
    """Roles alternate: what follows in the same role is written into the same message."""
    made = begin(messages)
    for turn in turns_of(messages):
        role = "user" if turn.role == "tool" else turn.role
        blocks = [block for number, part in turn.parts if (block := _block(made, turn, number, part)) is not None]
        if not blocks:
            made.lose(turn.id, None, "This format has no empty messages.")
        elif made.items and made.items[-1]["role"] == role:
            made.items[-1]["content"] += blocks
            made.extend(-1, turn.id)
        else:
            made.add({"role": role, "content": blocks}, turn.id)
    for item in made.items:
        if (text := single_text(item["content"])) is not None:
            item["content"] = text
    return made


def _block(made: Converted, turn: Turn, number: int, part: Part) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        if part.text.strip():
            return {"type": "text", "text": part.text}
        if part.text:
            made.lose(turn.id, number, "This format has no texts of white space alone.")
        return None
    if isinstance(part, ToolCallPart) and turn.role == "assistant":
        given = object_input(made, turn, number, part)
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": given}
    if isinstance(part, ToolResultPart):
        return _result(made, turn, number, part)
    if isinstance(part, ReasoningPart) and turn.role == "assistant":
        return _thinking(made, turn, number, part)
    if (own := own_part(turn, part, NAME)) is not None and turn.role != "system":
        return own
    if isinstance(part, FilePart) and turn.role == "user" and (block := _file(part)) is not None:
        if block["type"] == "image":
            lose_name(made, turn, number, part)
        return block
    cannot(made, turn, number, part)
    return None


def _result(made: Converted, turn: Turn, number: int, part: ToolResultPart) -> dict[str, Any]:
    own = turn.stored.format == NAME and isinstance(part.output, list)
    block = {"type": "tool_result", "tool_use_id": part.id}
    content = part.output if own else output_of(made, turn, number, part)
    return block | ({"content": content} if content else {}) | ({"is_error": True} if part.is_error else {})


def _thinking(made: Converted, turn: Turn, number: int, part: ReasoningPart) -> dict[str, Any] | None:
    signature = lose_signature(made, turn, number, part.signature, NAME)
    if isinstance(data := signature.get("redactedData"), str):
        return {"type": "redacted_thinking", "data": data}
    if isinstance(value := signature.get("signature"), str):
        return {"type": "thinking", "thinking": part.text, "signature": value}
    if part.text:
        made.lose(turn.id, number, "This format takes reasoning with its own signature only.")
    return None


def _file(part: FilePart) -> dict[str, Any] | None:
    source: dict[str, Any]
    picture = part.media_type.startswith("image/")
    if part.data is not None and (part.media_type in PICTURES or part.media_type == "application/pdf"):
        source = {"type": "base64", "media_type": part.media_type, "data": part.data}
    elif part.url and not part.url.startswith("data:") and (picture or part.media_type == "application/pdf"):
        source = {"type": "url", "url": part.url}
    else:
        return None
    if picture:
        return {"type": "image", "source": source}
    return {"type": "document", "source": source} | ({"title": part.name} if part.name else {})


def detect(raw: Any) -> bool:
    """A message with parts that only this format has, or one whose text is a list of parts, as assistants here answer."""
    if not isinstance(raw, dict) or raw.get("role") not in ROLES or "tool_calls" in raw:
        return False
    content = raw.get("content")
    if not isinstance(content, list):
        return False
    kinds = {kind for block in content if isinstance(block, dict) and isinstance(kind := block.get("type"), str)}
    if kinds & _NEVER_HERE and not kinds & _ONLY_HERE:
        return False
    if kinds & _ONLY_HERE or any(
        isinstance(block, dict) and ("cache_control" in block or "citations" in block) for block in content
    ):
        return True
    if any(
        isinstance(block, dict) and block.get("type") == "image" and isinstance(block.get("source"), dict) for block in content
    ):
        return True
    return "stop_reason" in raw or (raw["role"] == "assistant" and kinds == {"text"})


FORMAT = Format(NAME, ROLES, read, write, detect, call_id=lambda value: limited_id(value, 64, narrow=True))
