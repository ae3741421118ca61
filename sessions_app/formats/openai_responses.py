"""`openai.responses`: items of the Responses API, as its input and its output have them. One item is one message here."""

from collections.abc import Sequence
from typing import Any

from sessions_app.formats.fields import (
    Unreadable,
    arguments,
    list_of,
    object_of,
    optional_list,
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
    SourcePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    file_at,
    stored_file,
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
    lose_error_flag,
    lose_name,
    lose_signature,
    output_of,
    own_part,
    text_of,
    turns_of,
    url_of,
)

NAME = "openai.responses"
ROLES = ("user", "assistant", "system", "developer")
PROVIDER = "openai"
# A tuple: what is looked up in it can be any JSON, which a set could not hash.
_BLOCKS = ("input_text", "output_text", "input_image", "input_file", "refusal")
# An item's id and status, and a message's phase, are its envelope.
_KNOWN = {
    "message": frozenset({"type", "role", "content", "id", "status", "phase"}),
    "function_call": frozenset({"type", "call_id", "name", "arguments", "id", "status"}),
    "custom_tool_call": frozenset({"type", "call_id", "name", "input", "id", "status"}),
    "function_call_output": frozenset({"type", "call_id", "output", "id", "status", "name"}),
    "custom_tool_call_output": frozenset({"type", "call_id", "output", "id", "status"}),
    "reasoning": frozenset({"type", "id", "summary", "encrypted_content", "status"}),
}


def read(raw: Any) -> Neutral:
    raw = object_of(raw)
    kind = raw.get("type")
    if kind is None and "role" not in raw and isinstance(raw.get("id"), str):
        return Neutral("assistant", [kept(NAME, raw)])
    if kind is None or kind == "message":
        return _read_message(raw)
    if not isinstance(kind, str):
        raise Unreadable("`type` is a text.")
    made = Neutral("tool" if kind.endswith("_output") else "assistant", [])
    made.left_out = [(0, name) for name in unknown(raw, _KNOWN[kind])] if kind in _KNOWN else []
    if kind == "reasoning":
        made.parts.append(_read_reasoning(raw, made))
    elif kind in {"function_call", "custom_tool_call"}:
        plain = kind == "custom_tool_call"
        # While it streams, a call may have no arguments yet.
        given = text_in(raw, "input") if plain else arguments(optional_text(raw, "arguments") or "")
        made.parts.append(ToolCallPart(text_in(raw, "call_id"), text_in(raw, "name"), given))
        made.left_out += [(0, "custom_tool_call")] if plain else []
    elif kind in {"function_call_output", "custom_tool_call_output"}:
        made.parts.append(_read_result(raw))
        made.left_out += [(0, "custom_tool_call_output")] if kind.startswith("custom") else []
    else:
        made.parts.append(kept(NAME, raw))
    return made


def _read_message(raw: dict[str, Any]) -> Neutral:
    role = role_in(raw, ROLES)
    made = Neutral("system" if role == "developer" else role, [])
    made.left_out += [(None, name) for name in unknown(raw, _KNOWN["message"])]
    made.left_out += [(None, "role")] if role == "developer" else []
    content = raw.get("content")
    if isinstance(content, str):
        made.parts += [TextPart(content)] if content else []
        return made
    for block in list_of(content, "`content`"):
        _read_block(object_of(block, "A part of `content`"), made)
    return made


def _read_block(block: dict[str, Any], made: Neutral) -> None:
    kind, number = block.get("type"), len(made.parts)
    if kind in ("input_text", "output_text"):
        made.parts.append(TextPart(text_in(block, "text")))
        made.left_out += [(number, name) for name in unknown(block, frozenset({"type", "text", "annotations"}))]
        for note in optional_list(block, "annotations"):
            _read_source(object_of(note, "An annotation"), number, made)
    elif kind == "refusal":
        made.parts.append(TextPart(text_in(block, "refusal")))
        made.left_out.append((number, "refusal"))
    elif kind == "input_image" and (url := optional_text(block, "image_url")):
        made.parts.append(file_at(url, "image/*"))
        known = {"type", "image_url"} | ({"detail"} if block.get("detail") == "auto" else set())
        made.left_out += [(number, name) for name in unknown(block, frozenset(known))]
    elif kind == "input_file" and (file := _read_file(block)) is not None:
        made.parts.append(file)
        known = {"type", "file_url" if block.get("file_url") else "file_data", "filename"}
        made.left_out += [(number, name) for name in unknown(block, frozenset(known))]
    elif kind in ("input_image", "input_file") and (stored := stored_file(block)) is not None:
        made.parts.append(FilePart("image/*" if kind == "input_image" else "", optional_text(block, "filename"), file=stored))
        made.left_out += [(number, name) for name in unknown(block, frozenset({"type", "file_id", "filename"}))]
    else:
        made.parts.append(kept(NAME, block))


def _read_file(block: dict[str, Any]) -> FilePart | None:
    """The file that a block has or tells the address of; None for content in a form that only this API knows."""
    name = optional_text(block, "filename")
    if url := optional_text(block, "file_url"):
        return file_at(url, "", name)
    file = file_at(optional_text(block, "file_data") or "", "", name)
    return file if file.data is not None else None


def _read_source(annotation: dict[str, Any], number: int, made: Neutral) -> None:
    if annotation.get("type") == "url_citation" and isinstance(annotation.get("url"), str):
        made.parts.append(SourcePart(annotation["url"], optional_text(annotation, "title")))
    else:
        made.left_out.append((number, "annotations"))


def _read_result(raw: dict[str, Any]) -> Part:
    output = raw.get("output")
    if not isinstance(output, (str, list)):
        raise Unreadable("`output` is a text or a list.")
    name = raw.get("name")
    return ToolResultPart(optional_text(raw, "call_id") or "", output, name=name if isinstance(name, str) else None)


def _read_reasoning(raw: dict[str, Any], made: Neutral) -> ReasoningPart:
    texts = [text_in(object_of(each, "A summary"), "text") for each in list_of(raw.get("summary"), "`summary`")]
    made.left_out += [(0, "summary")] if len(texts) > 1 or texts == [""] else []
    signature = {"itemId": optional_text(raw, "id"), "reasoningEncryptedContent": optional_text(raw, "encrypted_content")}
    known = {name: value for name, value in signature.items() if value is not None}
    return ReasoningPart("\n\n".join(texts), {PROVIDER: known} if known else None)


def write(messages: Sequence[Stored]) -> Converted:
    made = begin(messages)
    for turn in turns_of(messages):
        blocks: list[dict[str, Any]] = []
        for number, part in turn.parts:
            block = _block(made, turn, number, part)
            if block is not None:
                blocks.append(block)
            elif (item := _item(made, turn, number, part)) is not None:
                _flush(made, turn, blocks)
                made.add(item, turn.id)
        _flush(made, turn, blocks)
        if not turn.parts:
            made.add({"type": "message", "role": turn.role, "content": ""}, turn.id)
    return made


def _flush(made: Converted, turn: Turn, blocks: list[dict[str, Any]]) -> None:
    """Write the message that was collected. The types allow an assistant's message a single text only, unless it has an id."""
    if turn.role == "assistant":
        for block in blocks:
            made.add({"type": "message", "role": "assistant", "content": block["text"]}, turn.id)
    elif blocks:
        single = len(blocks) == 1 and blocks[0].get("type") == "input_text" and set(blocks[0]) == {"type", "text"}
        made.add({"type": "message", "role": turn.role, "content": blocks[0]["text"] if single else list(blocks)}, turn.id)
    blocks.clear()


def _block(made: Converted, turn: Turn, number: int, part: Part) -> dict[str, Any] | None:
    """A part of a message."""
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    if turn.role == "assistant":
        return None
    own = own_part(turn, part, NAME)
    if own is not None and own.get("type") in _BLOCKS:
        return own
    if not isinstance(part, FilePart) or (url := url_of(part)) is None:
        return None
    if part.media_type.startswith("image"):
        lose_name(made, turn, number, part)
        return {"type": "input_image", "detail": "auto", "image_url": url}
    return {"type": "input_file", "file_data" if part.data is not None else "file_url": url} | (
        {"filename": part.name} if part.name else {}
    )


def _item(made: Converted, turn: Turn, number: int, part: Part) -> dict[str, Any] | None:
    """A part that is an item of its own."""
    if isinstance(part, ToolCallPart) and turn.role == "assistant":
        given = text_of({} if part.input is None else part.input)
        call_id = part.id
        return {"type": "function_call", "call_id": call_id, "name": part.name, "arguments": given}
    if isinstance(part, ToolResultPart):
        lose_error_flag(made, turn, number, part)
        own = turn.stored.format == NAME and isinstance(part.output, list)
        output = part.output if own else output_of(made, turn, number, part)
        return {"type": "function_call_output", "call_id": part.id, "output": output}
    if isinstance(part, ReasoningPart) and turn.role == "assistant":
        return _reasoning(made, turn, number, part)
    if (own_item := own_part(turn, part, NAME)) is not None and own_item.get("type") not in _BLOCKS:
        return own_item
    cannot(made, turn, number, part)
    return None


def _reasoning(made: Converted, turn: Turn, number: int, part: ReasoningPart) -> dict[str, Any] | None:
    signature = lose_signature(made, turn, number, part.signature, PROVIDER)
    item_id, encrypted = signature.get("itemId"), signature.get("reasoningEncryptedContent")
    if not isinstance(item_id, str):
        if part.text:
            made.lose(turn.id, number, "This format takes reasoning with its own id only.")
        return None
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    item = {"type": "reasoning", "id": item_id, "summary": summary}
    return item | ({"encrypted_content": encrypted} if isinstance(encrypted, str) else {})


_CALLS = ("computer", "local_shell", "shell", "apply_patch", "function")
_OTHERS = {
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "reasoning",
    "item_reference",
    "compaction",
    "compaction_trigger",
    "configuration_update",
    "program",
    "program_output",
    "tool_search_call",
    "tool_search_output",
    "additional_tools",
}
_SERVER_CALLS = {"file_search_call", "web_search_call", "image_generation_call", "code_interpreter_call", "custom_tool_call"}
_ITEMS = set(_KNOWN) - {"message"} | _OTHERS | _SERVER_CALLS | {f"{name}_call{end}" for name in _CALLS for end in ("", "_output")}


def detect(raw: Any) -> bool:
    """An item by its type, or a message whose parts are of this format alone."""
    if not isinstance(raw, dict):
        return False
    kind, content = raw.get("type"), raw.get("content")
    if isinstance(kind, str) and kind in _ITEMS:
        return "role" not in raw or kind == "additional_tools"
    if kind not in (None, "message") or raw.get("role") not in ROLES:
        return False
    if isinstance(content, list) and content:
        # A refusal alone is also one of `openai.chat`.
        own = kind == "message" or any(isinstance(block, dict) and block.get("type") != "refusal" for block in content)
        return own and all(isinstance(block, dict) and block.get("type") in _BLOCKS for block in content)
    return kind == "message" and isinstance(content, (str, list)) and "model" not in raw


FORMAT = Format(NAME, ROLES, read, write, detect, calls_apart=True, call_id=lambda value: limited_id(value, 64))
