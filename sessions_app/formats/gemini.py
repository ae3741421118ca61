"""`gemini`: `Content` of the Gemini API. It reads the names of the JSON (`functionCall`) and of Python (`function_call`)."""

from collections.abc import Sequence
from typing import Any

from sessions_app.formats.fields import Unreadable, list_of, object_of, optional_object, optional_text, text_in, unknown
from sessions_app.formats.neutral import (
    DataPart,
    FilePart,
    Neutral,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sessions_app.formats.writing import (
    Converted,
    Format,
    Stored,
    Turn,
    begin,
    cannot,
    lose_signature,
    object_input,
    own_value,
    turns_of,
)

NAME = "gemini"
ROLES = ("user", "model", "function", "tool", "system")
PROVIDER = "google"
_NEUTRAL = {"user": "user", "model": "assistant", "function": "tool", "tool": "tool", "system": "system"}
# What a part may hold, by its name in JSON.
_FILES = ("inlineData", "fileData")
_CONTENTS = (
    "text",
    "functionCall",
    "functionResponse",
    *_FILES,
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
_SNAKE = {
    name: "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    for name in [*_CONTENTS, "thoughtSignature", "mimeType", "fileUri", "displayName"]
}
_BESIDE = frozenset({"thought", "thoughtSignature", "thought_signature"})
_FIELDS = {
    "functionCall": frozenset({"id", "name", "args"}),
    "functionResponse": frozenset({"id", "name", "response"}),
    "inlineData": frozenset({"data", "mimeType", "mime_type", "displayName", "display_name"}),
    "fileData": frozenset({"fileUri", "file_uri", "mimeType", "mime_type", "displayName", "display_name"}),
}
_URL_SAFE = str.maketrans("-_", "+/")


def read(raw: Any) -> Neutral:
    raw = object_of(raw)
    role = "user" if raw.get("role") is None else raw["role"]
    if not isinstance(role, str) or role not in _NEUTRAL:
        raise Unreadable("`role` is user or model.")
    made = Neutral(_NEUTRAL[role], [])
    for part in list_of(raw.get("parts"), "`parts`"):
        _read_part(object_of(part, "A part"), made)
    if role == "user" and made.parts and all(isinstance(part, ToolResultPart) for part in made.parts):
        made.role = "tool"
    made.left_out += [(None, name) for name in unknown(raw, frozenset({"role", "parts"}))]
    if role in {"function", "tool", "system"}:
        made.left_out.append((None, "role"))
    return made


def _get(raw: dict[str, Any], name: str) -> Any:
    value = raw.get(name)
    return raw.get(_SNAKE[name]) if value is None else value


def _read_part(part: dict[str, Any], made: Neutral) -> None:
    name = next((name for name in _CONTENTS if _get(part, name) is not None), "")
    signature = _get(part, "thoughtSignature")
    if signature is not None and not isinstance(signature, str):
        raise Unreadable("`thoughtSignature` is a text.")
    signed = {PROVIDER: {"thoughtSignature": signature}} if signature else None
    content = _get(part, name) if name else None
    if name == "text" and part.get("thought") is True:
        made.parts.append(ReasoningPart(_text(content), signed))
    else:
        made.parts += [ReasoningPart("", signed)] if signed and name in {"text", *_FIELDS} else []
        made.parts.append(_content(name, content, part))
    if name in {"text", *_FIELDS}:
        number = len(made.parts) - 1
        made.left_out += [(number, each) for each in unknown(part, _BESIDE | {name, _SNAKE[name]})]
        if name != "text":
            made.left_out += [(number, each) for each in unknown(object_of(content), _FIELDS[name])]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unreadable("`text` is a text.")
    return value


def _content(name: str, content: Any, part: dict[str, Any]) -> Part:
    if name == "text":
        return TextPart(_text(content))
    if name not in _FIELDS:
        return DataPart(f"{NAME}:{name or 'part'}", part)
    content = object_of(content, f"`{name}`")
    if name == "functionCall":
        return ToolCallPart(optional_text(content, "id") or "", text_in(content, "name"), optional_object(content, "args"))
    if name == "functionResponse":
        return _read_result(content)
    media_type, title = _get(content, "mimeType"), _get(content, "displayName")
    where = _get(content, "fileUri") if name == "fileData" else content.get("data")
    if not isinstance(where, str) or not isinstance(media_type, (str, type(None))) or not isinstance(title, (str, type(None))):
        raise Unreadable("A file has texts as `mimeType`, `displayName` and `data` or `fileUri`.")
    if name == "fileData":
        return FilePart(media_type or "", title, url=where)
    # The Python package writes the URL-safe alphabet of base64.
    return FilePart(media_type or "", title, data=where.translate(_URL_SAFE) if "-" in where or "_" in where else where)


def _read_result(content: dict[str, Any]) -> ToolResultPart:
    """`{"output": …}` and `{"error": …}` are what the API suggests. Other objects are the output."""
    response = optional_object(content, "response")
    call_id, name = optional_text(content, "id") or "", optional_text(content, "name")
    if len(response) == 1 and "error" in response:
        return ToolResultPart(call_id, response["error"], True, name)
    if len(response) == 1 and "output" in response and not isinstance(response["output"], dict):
        return ToolResultPart(call_id, response["output"], name=name)
    return ToolResultPart(call_id, response, name=name)


def write(messages: Sequence[Stored]) -> Converted:
    """All calls of one answer are written into one message, and so are their results."""
    made = begin(messages)
    names: dict[str, str] = {}
    before = ""
    for turn in turns_of(messages):
        parts = _parts(made, turn, names)
        if turn.role == "system":
            made.lose(turn.id, None, "This format has no system messages: it is written as the user's.")
        if not parts:
            made.lose(turn.id, None, "This format has no empty messages.")
        elif turn.role == before and (turn.role == "tool" or (turn.role == "assistant" and turn.id not in made.ids[-1])):
            made.items[-1]["parts"] += parts
            made.extend(-1, turn.id)
        else:
            made.add({"role": "model" if turn.role == "assistant" else "user", "parts": parts}, turn.id)
            before = turn.role
    return made


def _parts(made: Converted, turn: Turn, names: dict[str, str]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    signed: dict[str, Any] = {}
    for number, part in turn.parts:
        if isinstance(part, ReasoningPart):
            signature = lose_signature(made, turn, number, part.signature, PROVIDER).get("thoughtSignature")
            own = {"thoughtSignature": signature} if isinstance(signature, str) else {}
            if part.text:
                parts.append({"text": part.text, "thought": True} | own)
                continue
            parts += [{"text": ""} | signed] if signed else []
            signed = own
        elif (item := _part(made, turn, number, part, names)) is not None:
            parts.append(item | signed)
            signed = {}
    # As the API itself sends a signature without a part that follows.
    return [*parts, {"text": ""} | signed] if signed else parts


def _part(made: Converted, turn: Turn, number: int, part: Part, names: dict[str, str]) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        return {"text": part.text}
    if isinstance(part, ToolCallPart) and turn.role == "assistant":
        names[part.id] = part.name
        call = {"name": part.name, "args": object_input(made, turn, number, part)}
        return {"functionCall": ({"id": part.id} if part.id else {}) | call}
    if isinstance(part, ToolResultPart):
        result = {"name": part.name or names.get(part.id, "tool"), "response": _response(part)}
        return {"functionResponse": ({"id": part.id} if part.id else {}) | result}
    if isinstance(part, FilePart) and (file := _file(part)) is not None:
        return file
    if (own := own_value(turn, part, NAME)) is not None:
        return own
    cannot(made, turn, number, part)
    return None


def _response(part: ToolResultPart) -> dict[str, Any]:
    if part.is_error:
        return {"error": part.output}
    return part.output if isinstance(part.output, dict) else {"output": part.output}


def _file(part: FilePart) -> dict[str, Any] | None:
    name = {"displayName": part.name} if part.name else {}
    media_type = {"mimeType": part.media_type} if part.media_type else {}
    if part.data is not None:
        return {"inlineData": {"data": part.data} | media_type | name}
    return {"fileData": {"fileUri": part.url} | media_type | name} if part.url is not None else None


def detect(raw: Any) -> bool:
    if not isinstance(raw, dict) or not raw.keys() <= {"role", "parts"} or not isinstance(raw.get("parts"), list):
        return False
    if raw.get("role") not in (None, *ROLES) or not raw["parts"]:
        return False
    return all(isinstance(part, dict) and "type" not in part and _holds_something(part) for part in raw["parts"])


def _holds_something(part: dict[str, Any]) -> bool:
    return any(name in part or _SNAKE[name] in part for name in _CONTENTS)


FORMAT = Format(NAME, ROLES, read, write, detect)
