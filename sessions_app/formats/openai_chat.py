"""`openai.chat`: messages of Chat Completions, which many servers and libraries use."""

from collections.abc import Sequence
from typing import Any

from sessions_app.formats.fields import (
    Unreadable,
    arguments,
    object_of,
    optional_list,
    optional_object,
    optional_text,
    role_in,
    text_in,
    unknown,
)
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
    continues,
    kept,
    limited_id,
    lose_error_flag,
    lose_name,
    lose_signature,
    output_of,
    own_part,
    results_of,
    single_text,
    text_of,
    turns_of,
    url_of,
)

NAME = "openai.chat"
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_KNOWN = frozenset({"role", "content", "tool_calls", "function_call", "reasoning_content", "reasoning", "refusal", "annotations"})
_OF_RESULTS = frozenset({"role", "content", "tool_call_id", "name"})
_AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_MEDIA_TYPES = {"mp3": "audio/mpeg"}
_CALL = frozenset({"id", "type", "index", "function", "custom"})
_BLOCKS = frozenset({"type", "text", "refusal", "image_url", "input_audio", "file"})


def read(raw: Any) -> Neutral:
    raw = object_of(raw)
    role = role_in(raw, ROLES)
    made = Neutral("system" if role == "developer" else "tool" if role == "function" else role, [])
    made.left_out = [(None, name) for name in unknown(raw, _OF_RESULTS if role in {"tool", "function"} else _KNOWN)]
    if role in {"developer", "function"}:
        made.left_out.append((None, "role"))
    if role in {"tool", "function"}:
        made.parts.append(_read_result(raw, role, made))
        return made
    _read_reasoning(raw, made)
    _read_content(raw.get("content"), made)
    if refusal := optional_text(raw, "refusal"):
        made.left_out.append((len(made.parts), "refusal"))
        made.parts.append(TextPart(refusal))
    for call in optional_list(raw, "tool_calls"):
        _read_call(object_of(call, "A tool call"), made)
    if call := optional_object(raw, "function_call"):
        made.left_out.append((len(made.parts), "function_call"))
        made.parts.append(ToolCallPart("", text_in(call, "name"), arguments(text_in(call, "arguments"))))
    _read_sources(optional_list(raw, "annotations"), made)
    return made


def _read_reasoning(raw: dict[str, Any], made: Neutral) -> None:
    """Servers call it by either name, or by both."""
    for name in ("reasoning_content", "reasoning"):
        said = raw.get(name)
        if isinstance(said, str) and said and not made.parts:
            made.parts.append(ReasoningPart(said))
        elif said and made.parts != [ReasoningPart(said)]:
            made.left_out.append((None, name))


def _read_result(raw: dict[str, Any], role: str, made: Neutral) -> ToolResultPart:
    content = raw.get("content")
    if content is not None and not isinstance(content, str):
        for block in optional_list(raw, "content"):
            made.left_out += [(0, name) for name in unknown(object_of(block, "A part of `content`"), _BLOCKS)]
    call_id = text_in(raw, "tool_call_id") if role == "tool" else ""
    return ToolResultPart(call_id, content or "", name=optional_text(raw, "name"))


def _read_content(content: Any, made: Neutral) -> None:
    if isinstance(content, str):
        made.parts += [TextPart(content)] if content else []
    elif isinstance(content, list):
        for block in content:
            _read_block(object_of(block, "A part of `content`"), made)
    elif content is not None:
        raise Unreadable("`content` is a text, a list of parts, or null.")


def _read_block(block: dict[str, Any], made: Neutral) -> None:
    kind, number = block.get("type"), len(made.parts)
    if kind == "text":
        made.parts.append(TextPart(text_in(block, "text")))
    elif kind == "refusal":
        made.left_out.append((number, "refusal"))
        made.parts.append(TextPart(text_in(block, "refusal")))
    elif kind == "image_url":
        image = object_of(block.get("image_url"), "`image_url`")
        made.parts.append(file_at(text_in(image, "url"), "image/*"))
        made.left_out += [(number, name) for name in unknown(image, frozenset({"url"}))]
    else:
        made.parts.append(_read_file(kind, block))
    if not isinstance(made.parts[number], DataPart):
        made.left_out += [(number, name) for name in unknown(block, _BLOCKS)]


def _read_sources(annotations: list[Any], made: Neutral) -> None:
    for each in annotations:
        cited = object_of(each, "An annotation").get("url_citation")
        if isinstance(cited, dict) and isinstance(cited.get("url"), str):
            made.parts.append(SourcePart(cited["url"], optional_text(cited, "title")))
        else:
            made.left_out.append((None, "annotations"))


def _read_file(kind: Any, block: dict[str, Any]) -> Part:
    if kind == "input_audio":
        audio = object_of(block.get("input_audio"), "`input_audio`")
        audio_format = text_in(audio, "format")
        return FilePart(_MEDIA_TYPES.get(audio_format, f"audio/{audio_format}"), data=text_in(audio, "data"))
    if kind == "file":
        file = object_of(block.get("file"), "`file`")
        url = optional_text(file, "file_data")
        if url and url.startswith("data:") and file.keys() <= {"file_data", "filename"}:
            return file_at(url, "", optional_text(file, "filename"))
        if (stored := stored_file(block)) is not None and file.keys() <= {"file_id", "filename"}:
            return FilePart("", optional_text(file, "filename"), file=stored)
    return kept(NAME, block)


def _read_call(call: dict[str, Any], made: Neutral) -> None:
    kind = "custom" if call.get("type") == "custom" else "function"
    called = object_of(call.get(kind), f"`{kind}`")
    # While it streams, a call may have no arguments yet.
    given = text_in(called, "input") if kind == "custom" else arguments(optional_text(called, "arguments") or "")
    made.left_out += [(len(made.parts), "custom")] if kind == "custom" else []
    made.left_out += [(len(made.parts), name) for name in unknown(call, _CALL)]
    made.parts.append(ToolCallPart(text_in(call, "id"), text_in(called, "name"), given))


def write(messages: Sequence[Stored]) -> Converted:
    made = begin(messages)
    for turn in turns_of(messages):
        if turn.role == "tool":
            for number, part in results_of(turn):
                made.add(_result(made, turn, number, part), turn.id)
        else:
            _write_turn(made, turn)
    for item in made.items:
        if item["role"] != "tool":
            _finish(item)
    return made


def _result(made: Converted, turn: Turn, number: int, part: ToolResultPart) -> dict[str, Any]:
    lose_error_flag(made, turn, number, part)
    own = turn.stored.format == NAME and isinstance(part.output, list)
    content = part.output if own else output_of(made, turn, number, part)
    return {"role": "tool", "tool_call_id": part.id, "content": content}


def _write_turn(made: Converted, turn: Turn) -> None:
    blocks: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    for number, part in turn.parts:
        if isinstance(part, ToolCallPart) and turn.role == "assistant":
            function = {"name": part.name, "arguments": text_of({} if part.input is None else part.input)}
            calls.append({"id": part.id, "type": "function", "function": function})
        elif (block := _block(made, turn, number, part)) is not None:
            blocks.append(block)
    if turn.parts and not blocks and not calls:
        return
    if continues(made, turn, bool(calls), "tool_calls"):
        made.items[-1]["content"] += blocks
        made.items[-1]["tool_calls"] += calls
        made.extend(-1, turn.id)
    else:
        made.add({"role": turn.role, "content": blocks, "tool_calls": calls}, turn.id)


def _finish(item: dict[str, Any]) -> None:
    """A single text is written as a text, and none beside tool calls as null, which all servers take."""
    blocks, calls = item["content"], item.pop("tool_calls")
    if not blocks:
        item["content"] = None if calls else ""
    elif (text := single_text(blocks)) is not None:
        item["content"] = text
    if calls:
        item["tool_calls"] = calls


def _block(made: Converted, turn: Turn, number: int, part: Part) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if turn.role == "user":
        if (own := own_part(turn, part, NAME)) is not None:
            return own
        if isinstance(part, FilePart) and (block := _file_block(made, turn, number, part)) is not None:
            return block
    if isinstance(part, ReasoningPart):
        lose_signature(made, turn, number, part.signature)
        if not part.text:
            return None
    cannot(made, turn, number, part)
    return None


def _file_block(made: Converted, turn: Turn, number: int, part: FilePart) -> dict[str, Any] | None:
    url = url_of(part)
    if part.media_type.startswith("image") and url:
        lose_name(made, turn, number, part)
        return {"type": "image_url", "image_url": {"url": url}}
    if part.media_type in _AUDIO and part.data is not None:
        lose_name(made, turn, number, part)
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": _AUDIO[part.media_type]}}
    if url and url.startswith("data:"):
        return {"type": "file", "file": {"file_data": url} | ({"filename": part.name} if part.name else {})}
    return None


def detect(raw: Any) -> bool:
    if not isinstance(raw, dict) or raw.get("role") not in ROLES or "parts" in raw:
        return False
    return isinstance(raw.get("content", ()), (str, list)) or any(
        name in raw for name in ("tool_calls", "function_call", "refusal", "reasoning_content", "reasoning")
    )


FORMAT = Format(NAME, ROLES, read, write, detect, call_id=lambda value: limited_id(value, 40))
