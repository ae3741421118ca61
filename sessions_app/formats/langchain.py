"""`langchain`: messages of langchain-core, as `message_to_dict`, `dumpd` or `model_dump` write them. Written as the first."""

from collections.abc import Sequence
from typing import Any

from sessions_app.formats.fields import (
    Unreadable,
    arguments,
    count_in,
    list_of,
    object_of,
    optional_list,
    optional_object,
    optional_text,
    text_in,
    unknown,
)
from sessions_app.formats.langchain_blocks import NAME, read_block, write_block
from sessions_app.formats.neutral import DataPart, Neutral, ReasoningPart, TextPart, ToolCallPart, ToolResultPart, Usage
from sessions_app.formats.writing import Converted, Format, Stored, Turn, begin, results_of, single_text, text_of, turns_of

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "chat": "",
    "remove": "system",
}
_CLASSES = {f"{name}Message": name.lower() for name in ("Human", "System", "Tool", "Function", "Chat", "Remove")} | {
    "AIMessage": "ai"
}
_TYPES = {**{name: name for name in _ROLES}, **_CLASSES, **{f"{name}Chunk": kind for name, kind in _CLASSES.items()}}
_CHAT_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "system": "system"}
_WRITTEN = {"user": "human", "assistant": "ai", "system": "system"}
ROLES = tuple(_TYPES)
# `id` and `response_metadata` describe the provider's answer, not the conversation.
_KNOWN = frozenset(
    {"type", "content", "id", "response_metadata", "additional_kwargs", "tool_calls", "invalid_tool_calls", "usage_metadata"}
    | {"tool_call_id", "status", "chunk_position", "tool_call_chunks"}
)
# Of all messages that `model_dump` writes.
_FIELDS = _KNOWN | {"name", "example", "artifact", "role"}


def read(raw: Any) -> Neutral:
    kind, data = _opened(object_of(raw))
    if kind == "remove":
        return Neutral("system", [DataPart(f"{NAME}:remove", raw)])
    role = _ROLES[kind] or _CHAT_ROLES.get(text_in(data, "role"), "user")
    made = Neutral(role, [])
    known = _KNOWN | {"name"} if role == "tool" else _KNOWN
    made.left_out += [(None, name) for name in unknown(data, known)]
    made.left_out += [(None, "type")] if kind == "function" or str(data.get("type")).endswith("Chunk") else []
    extra, read_there = optional_object(data, "additional_kwargs"), set[str]()
    if role == "tool":
        made.parts.append(_read_result(kind, data))
        made.left_out += [(None, f"additional_kwargs.{name}") for name in unknown(extra, frozenset())]
        return made
    if isinstance(reasoning := extra.get("reasoning_content"), str) and reasoning:
        made.parts.append(ReasoningPart(reasoning))
        read_there.add("reasoning_content")
    _read_calls_and_content(data, made)
    if role == "assistant":
        read_there |= _read_extra_calls(extra, made)
    made.left_out += [(None, f"additional_kwargs.{name}") for name in unknown(extra, frozenset(read_there))]
    made.model = _model(optional_object(data, "response_metadata"))
    if usage := optional_object(data, "usage_metadata"):
        cached = count_in(optional_object(usage, "input_token_details"), "cache_read")
        made.usage = Usage(count_in(usage, "input_tokens"), count_in(usage, "output_tokens"), cached)
    return made


def _opened(raw: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The message's type and its fields, whichever of the three forms it has."""
    if "lc" in raw:
        data = object_of(raw.get("kwargs"), "`kwargs`")
        path = list_of(raw.get("id"), "`id`")
        kind = path[-1] if path else None
    else:
        data, kind = object_of(raw["data"], "`data`") if "data" in raw else raw, raw.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise Unreadable("`type` is human, ai, system, tool, function, chat or remove.")
    return _TYPES[kind], data


def _read_result(kind: str, data: dict[str, Any]) -> ToolResultPart:
    content = data.get("content")
    if not isinstance(content, (str, list)):
        raise Unreadable("`content` is a text or a list of blocks.")
    call_id = text_in(data, "tool_call_id") if kind == "tool" else ""
    return ToolResultPart(call_id, content, data.get("status") == "error", optional_text(data, "name"))


def _read_calls_and_content(data: dict[str, Any], made: Neutral) -> None:
    calls = [_read_call(object_of(call, "A tool call")) for call in optional_list(data, "tool_calls")]
    calls += [_read_call(object_of(call, "A tool call")) for call in optional_list(data, "invalid_tool_calls")]
    ids = {call.id for call in calls}
    content = data.get("content")
    if isinstance(content, str):
        made.parts += [TextPart(content)] if content else []
    else:
        for block in list_of(content, "`content`"):
            if isinstance(block, str):
                made.parts.append(TextPart(block))
            else:
                read_block(object_of(block, "A block"), made, ids)
    made.parts += calls


def _read_extra_calls(extra: dict[str, Any], made: Neutral) -> set[str]:
    """Calls as OpenAI has them, where the message has no others. Returns the names of the fields that say nothing more."""
    said, calls = set[str](), [part for part in made.parts if isinstance(part, ToolCallPart)]
    listed = extra.get("tool_calls")
    found = [_openai_call(call) for call in listed] if isinstance(listed, list) else []
    several = [call for call in found if call is not None]
    one = _openai_call({"id": "", "function": extra.get("function_call")})
    if several and len(several) == len(found):
        calls = calls or several
        said |= {"tool_calls"} if {call.id for call in several} <= {call.id for call in calls} else set()
    if one is not None:
        calls = calls or [one]
        said |= {"function_call"} if one.name in {call.name for call in calls} else set()
    made.parts += [] if any(isinstance(part, ToolCallPart) for part in made.parts) else calls
    return said


def _openai_call(call: Any) -> ToolCallPart | None:
    match call:
        case {"id": str(call_id), "function": {"name": str(name), "arguments": str(given)}}:
            return ToolCallPart(call_id, name, arguments(given))
    return None


def _read_call(call: dict[str, Any]) -> ToolCallPart:
    given = call.get("args")
    given = arguments(given) if isinstance(given, str) else given
    return ToolCallPart(optional_text(call, "id") or "", optional_text(call, "name") or "", given)


def _model(metadata: dict[str, Any]) -> str | None:
    return next((value for name in ("model_name", "model") if isinstance(value := metadata.get(name), str)), None)


def write(messages: Sequence[Stored]) -> Converted:
    made = begin(messages, "model", "usage")
    for turn in turns_of(messages):
        if turn.role == "tool":
            for _, part in results_of(turn):
                made.add(_message("tool", _result(part)), turn.id)
        elif (removal := _removal(turn)) is not None:
            made.add(removal, turn.id)
        else:
            _write_turn(made, turn)
    made.items = [_finished(item) for item in made.items]
    return made


def _write_turn(made: Converted, turn: Turn) -> None:
    blocks: list[dict[str, Any]] = []
    calls: list[ToolCallPart] = []
    for number, part in turn.parts:
        if isinstance(part, ToolCallPart) and turn.role == "assistant":
            calls.append(part)
        elif (block := write_block(made, turn, number, part)) is not None:
            blocks.append(block)
    if turn.parts and not blocks and not calls:
        return
    before = made.items[-1] if made.items and made.items[-1]["type"] == turn.role == "assistant" else None
    if before is not None and turn.id not in made.ids[-1] and (calls or before["calls"]):
        before["content"] += blocks
        before["calls"] += calls
        made.extend(-1, turn.id)
        return
    metadata = _metadata(turn.stored.neutral) if turn.role == "assistant" else {}
    made.add({"type": turn.role, "content": blocks, "calls": calls, "metadata": metadata}, turn.id)


def _finished(item: dict[str, Any]) -> dict[str, Any]:
    """A message once all of its parts are known."""
    if "calls" not in item:
        return item
    blocks = item["content"]
    text = single_text(blocks)
    fields = {"content": text if text is not None else blocks or ""}
    return _message(_WRITTEN[item["type"]], fields | _calls(item["calls"]) | item["metadata"])


def _message(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "data": {"type": kind} | fields}


def _calls(calls: list[ToolCallPart]) -> dict[str, Any]:
    """Calls whose input is no object are invalid ones, as the package has them."""
    valid, invalid = [], []
    for call in calls:
        head = {"name": call.name, "id": call.id or None}
        if isinstance(call.input, (dict, type(None))):
            valid.append(head | {"args": call.input or {}, "type": "tool_call"})
        else:
            invalid.append(head | {"args": text_of(call.input), "error": None, "type": "invalid_tool_call"})
    return {name: found for name, found in (("tool_calls", valid), ("invalid_tool_calls", invalid)) if found}


def _metadata(neutral: Neutral) -> dict[str, Any]:
    fields: dict[str, Any] = {"response_metadata": {"model_name": neutral.model}} if neutral.model is not None else {}
    if (usage := neutral.usage) is not None:
        read_tokens, written = usage.input or 0, usage.output or 0
        fields["usage_metadata"] = {"input_tokens": read_tokens, "output_tokens": written, "total_tokens": read_tokens + written}
        if usage.cached is not None:
            fields["usage_metadata"]["input_token_details"] = {"cache_read": usage.cached}
    return fields


def _result(part: ToolResultPart) -> dict[str, Any]:
    blocks = isinstance(part.output, list) and all(isinstance(each, (str, dict)) for each in part.output)
    fields = {"content": part.output if blocks else text_of(part.output), "tool_call_id": part.id}
    return fields | ({"name": part.name} if part.name else {}) | {"status": "error" if part.is_error else "success"}


def _removal(turn: Turn) -> dict[str, Any] | None:
    part = turn.parts[0][1] if len(turn.parts) == 1 else None
    if turn.stored.format != NAME or not isinstance(part, DataPart) or part.name != f"{NAME}:remove":
        return None
    return part.value if isinstance(part.value, dict) else None


def detect(raw: Any) -> bool:
    if not isinstance(raw, dict):
        return False
    if "lc" in raw:
        path = raw.get("id")
        return isinstance(raw.get("kwargs"), dict) and isinstance(path, list) and bool(path) and _is_type(path[-1])
    # Others' transcripts have a `type` and a `content` as well, beside fields of their own.
    if "data" not in raw and not raw.keys() <= _FIELDS:
        return False
    data = raw.get("data", raw)
    return _is_type(raw.get("type")) and isinstance(data, dict) and isinstance(data.get("content"), (str, list))


def _is_type(kind: Any) -> bool:
    return isinstance(kind, str) and kind in _TYPES


FORMAT = Format(NAME, ROLES, read, write, detect)
