"""`pydantic-ai`: `ModelRequest` and `ModelResponse` as `ModelMessagesTypeAdapter` writes them."""

from collections.abc import Sequence
from typing import Any

from sessions_app.formats.fields import (
    Unreadable,
    arguments,
    count_in,
    list_of,
    object_of,
    optional_object,
    optional_text,
    text_in,
    unknown,
)
from sessions_app.formats.neutral import (
    SYSTEM_PROMPT,
    DataPart,
    FilePart,
    Neutral,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
)
from sessions_app.formats.writing import Converted, Format, Stored, Turn, begin, cannot, lose_name, own_value, turns_of

NAME = "pydantic-ai"
ROLES = ("request", "response")
# Ids, times and settings of the package's own, which say nothing of the conversation.
_ENVELOPE = (
    frozenset({"kind", "part_kind", "parts", "timestamp", "state", "id", "identifier", "run_id", "conversation_id", "scope"})
    | {"provider_name", "provider_url", "provider_response_id", "canonical_system", "finish_reason", "model_id"}
    | {"history_digest", "workspace_ref", "content_file_digests", "force_download"}
)
_KNOWN = {
    "system-prompt": {"content"},
    "user-prompt": {"content"},
    "tool-return": {"content", "tool_name", "tool_call_id", "outcome"},
    "retry-prompt": {"content", "tool_name", "tool_call_id"},
    "text": {"content"},
    "thinking": {"content", "signature"},
    "tool-call": {"tool_name", "args", "tool_call_id"},
    "file": {"content"},
}
_FILES = {"image-url": "image/*", "audio-url": "audio/*", "video-url": "video/*", "document-url": ""}
_URL_KINDS = {"image": "image-url", "audio": "audio-url", "video": "video-url"}
# What each provider's signature is called in the neutral form, as the AI SDK calls it.
_SIGNATURES = {"anthropic": "signature", "openai": "reasoningEncryptedContent", "google": "thoughtSignature"}
_URL_SAFE = str.maketrans("-_", "+/")


def read(raw: Any) -> Neutral:
    raw = object_of(raw)
    kind = raw.get("kind")
    if kind not in ("request", "response"):
        raise Unreadable("`kind` is request or response.")
    made = Neutral("user" if kind == "request" else "assistant", [])
    kinds = [_read_part(object_of(part, "A part"), made) for part in list_of(raw.get("parts"), "`parts`")]
    if kinds.count("user-prompt") > 1:
        made.left_out.append((None, "user-prompt"))
    if kind == "request":
        _set_role(made)
        made.at = optional_text(raw, "timestamp")
    else:
        _read_response(raw, made)
    known = _ENVELOPE | {"model_name", "usage"} if kind == "response" else _ENVELOPE
    made.left_out += [(None, name) for name in unknown(raw, known)]
    return made


def _set_role(made: Neutral) -> None:
    """A request that consists of one thing only is a message of the system, or of tools."""
    if made.parts and all(isinstance(part, DataPart) and part.name == SYSTEM_PROMPT for part in made.parts):
        made.role = "system"
        made.parts = [TextPart(part.value) for part in made.parts if isinstance(part, DataPart)]
    elif made.parts and all(isinstance(part, ToolResultPart) for part in made.parts):
        made.role = "tool"


def _read_response(raw: dict[str, Any], made: Neutral) -> None:
    made.model, made.at = optional_text(raw, "model_name"), optional_text(raw, "timestamp")
    usage = optional_object(raw, "usage")
    counts = [count_in(usage, name) for name in ("input_tokens", "output_tokens", "cache_read_tokens")]
    made.usage = Usage(*counts) if any(counts) else None
    cost = usage.get("cost")
    made.cost = float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) and abs(cost) < 1e15 else None


def _read_part(part: dict[str, Any], made: Neutral) -> str:
    kind, number = text_in(part, "part_kind"), len(made.parts)
    if kind == "user-prompt":
        _read_prompt(part.get("content"), made)
    else:
        made.parts.append(_simple_part(kind, part))
    if kind in _KNOWN:
        made.left_out += [(number, name) for name in unknown(part, _ENVELOPE | _KNOWN[kind])]
    if part.get("outcome") not in (None, "success", "failed") or kind == "retry-prompt":
        made.left_out.append((number, "outcome"))
    return kind


def _simple_part(kind: str, part: dict[str, Any]) -> Part:
    if kind == "system-prompt":
        return DataPart(SYSTEM_PROMPT, text_in(part, "content"))
    if kind == "text":
        return TextPart(text_in(part, "content"))
    if kind == "thinking":
        return ReasoningPart(text_in(part, "content"), _read_signature(part))
    if kind == "tool-call":
        given = part.get("args")
        given = arguments(given) if isinstance(given, str) else given
        return ToolCallPart(text_in(part, "tool_call_id"), text_in(part, "tool_name"), given)
    if kind == "tool-return":
        failed = part.get("outcome") not in (None, "success")
        return ToolResultPart(text_in(part, "tool_call_id"), part.get("content"), failed, text_in(part, "tool_name"))
    if kind == "retry-prompt" and part.get("tool_name") is not None:
        return ToolResultPart(text_in(part, "tool_call_id"), part.get("content"), True, text_in(part, "tool_name"))
    if kind == "file" and isinstance(content := part.get("content"), dict) and content.get("kind") == "binary":
        return _read_binary(content)
    return DataPart(f"{NAME}:{kind}", part)


def _read_prompt(content: Any, made: Neutral) -> None:
    if isinstance(content, str):
        made.parts.append(TextPart(content))
        return
    for piece in list_of(content, "`content`"):
        if isinstance(piece, str):
            made.parts.append(TextPart(piece))
            continue
        kind = object_of(piece, "A piece of `content`").get("kind")
        if isinstance(kind, str) and kind in _FILES:
            media_type = optional_text(piece, "media_type") or _FILES[kind]
            made.parts.append(FilePart(media_type, url=text_in(piece, "url")))
        elif kind == "binary":
            made.parts.append(_read_binary(piece))
        elif kind == "text-content":
            made.parts.append(TextPart(text_in(piece, "content")))
        else:
            made.parts.append(DataPart(f"{NAME}:{kind if isinstance(kind, str) else 'content'}", piece))
        if not isinstance(made.parts[-1], DataPart):
            extra = unknown(piece, _ENVELOPE | {"url", "data", "media_type", "content"})
            made.left_out += [(len(made.parts) - 1, name) for name in extra]


def _read_binary(content: dict[str, Any]) -> FilePart:
    data = text_in(content, "data")
    # The package writes the URL-safe alphabet of base64.
    return FilePart(text_in(content, "media_type"), data=data.translate(_URL_SAFE) if "-" in data or "_" in data else data)


def _read_signature(part: dict[str, Any]) -> dict[str, Any] | None:
    value, provider, part_id = (optional_text(part, name) for name in ("signature", "provider_name", "id"))
    if value is None and part_id is None:
        return None
    if provider == "anthropic" and part_id == "redacted_thinking":
        return {provider: {"redactedData": value}}
    named = provider or NAME
    signature = {_SIGNATURES.get(named, "signature"): value, "itemId": part_id}
    return {named: {name: each for name, each in signature.items() if each is not None}}


def write(messages: Sequence[Stored]) -> Converted:
    """One request has what belongs to one stored message, or all results of one answer; one response has all of its calls."""
    made = begin(messages, "model", "usage", "at")
    names: dict[str, str] = {}
    before: Turn | None = None
    for turn in turns_of(messages):
        parts = _parts(made, turn, names)
        kind = "response" if turn.role == "assistant" else "request"
        if before is not None and made.items[-1]["kind"] == kind and _together(before, turn):
            made.items[-1]["parts"] += parts
            made.extend(-1, turn.id)
        elif parts or not turn.parts:
            made.add({"parts": parts, "kind": kind} | _envelope(turn, kind), turn.id)
        before = turn if made.items else None
    return made


def _together(before: Turn, turn: Turn) -> bool:
    if turn.role == "assistant":
        return before.id != turn.id
    return before.id == turn.id or before.role == turn.role == "tool"


def _envelope(turn: Turn, kind: str) -> dict[str, Any]:
    neutral = turn.stored.neutral
    found: dict[str, Any] = {"timestamp": neutral.at} if neutral.at is not None else {}
    if kind == "response" and neutral.model is not None:
        found["model_name"] = neutral.model
    if kind == "response" and (usage := neutral.usage) is not None:
        counts = {"input_tokens": usage.input, "output_tokens": usage.output, "cache_read_tokens": usage.cached}
        found["usage"] = {name: count for name, count in counts.items() if count is not None}
    return found


def _parts(made: Converted, turn: Turn, names: dict[str, str]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    pieces: list[Any] = []
    for number, part in turn.parts:
        if turn.role == "user" and (piece := _piece(turn, part)) is not None:
            if isinstance(part, FilePart):
                lose_name(made, turn, number, part)
            pieces.append(piece)
        elif (item := _part(made, turn, number, part, names)) is not None:
            parts += _prompt(pieces)
            parts.append(item)
    return [*parts, *_prompt(pieces)]


def _prompt(pieces: list[Any]) -> list[dict[str, Any]]:
    """The pieces that were collected as one part, if there are any."""
    content = pieces[0] if len(pieces) == 1 and isinstance(pieces[0], str) else list(pieces)
    pieces.clear()
    return [{"content": content, "part_kind": "user-prompt"}] if content or content == "" else []


def _piece(turn: Turn, part: Part) -> Any | None:
    """A part of what the user sent: a text or an object."""
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, FilePart):
        return _file(part)
    own = own_value(turn, part, NAME)
    return own if own is not None and "kind" in own else None


def _file(part: FilePart) -> dict[str, Any] | None:
    if part.data is not None:
        return {"data": part.data, "media_type": part.media_type or "application/octet-stream", "kind": "binary"}
    if part.url is None:
        return None
    kind = _URL_KINDS.get(part.media_type.partition("/")[0], "document-url")
    given = {"media_type": part.media_type} if part.media_type and not part.media_type.endswith("*") else {}
    return {"url": part.url, "kind": kind} | given


def _part(made: Converted, turn: Turn, number: int, part: Part, names: dict[str, str]) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        return {"content": part.text, "part_kind": "system-prompt" if turn.role == "system" else "text"}
    if isinstance(part, ToolResultPart):
        named = {"tool_name": part.name or names.get(part.id, "tool"), "tool_call_id": part.id, "content": part.output}
        return named | {"outcome": "failed" if part.is_error else "success", "part_kind": "tool-return"}
    if turn.role == "assistant":
        if isinstance(part, ToolCallPart):
            names[part.id] = part.name
            given = part.input if isinstance(part.input, (dict, str, type(None))) else {"input": part.input}
            return {"tool_name": part.name, "args": given, "tool_call_id": part.id, "part_kind": "tool-call"}
        if isinstance(part, ReasoningPart):
            return {"content": part.text, "part_kind": "thinking"} | _write_signature(made, turn, number, part.signature)
        if isinstance(part, FilePart) and part.data is not None:
            lose_name(made, turn, number, part)
            return {"content": _file(part), "part_kind": "file"}
    own = own_value(turn, part, NAME)
    if isinstance(part, DataPart) and own is not None and part.name == f"{NAME}:{own.get('part_kind')}":
        return own
    cannot(made, turn, number, part)
    return None


def _write_signature(made: Converted, turn: Turn, number: int, signature: Any) -> dict[str, Any]:
    """That of the first provider: there is place for one."""
    known = [(name, own) for name, own in signature.items() if isinstance(own, dict)] if isinstance(signature, dict) else []
    if signature and len(known) != 1:
        made.lose(turn.id, number, "This format has a place for the signature of one provider.")
    if not known:
        return {}
    provider, own = known[0]
    provider_name = {} if provider == NAME else {"provider_name": provider}
    if isinstance(data := own.get("redactedData"), str):
        return {"id": "redacted_thinking", "signature": data} | provider_name
    found = {"signature": own.get(_SIGNATURES.get(provider, "signature")), "id": own.get("itemId")}
    return {name: value for name, value in found.items() if isinstance(value, str)} | provider_name


def detect(raw: Any) -> bool:
    if not isinstance(raw, dict) or raw.get("kind") not in ("request", "response") or not isinstance(raw.get("parts"), list):
        return False
    return all(isinstance(part, dict) and "part_kind" in part for part in raw["parts"])


FORMAT = Format(NAME, ROLES, read, write, detect)
