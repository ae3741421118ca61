"""The neutral form of a message, which all formats are read into and written from, its parts as JSON, and which call has which
result."""

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

# A part between the steps of one assistant message. It has no content.
STEP_START = "ai-sdk:step-start"
# Instructions inside a request of Pydantic AI. The value is their text. Anywhere else it is data like any other.
SYSTEM_PROMPT = "system-prompt"


@dataclass(slots=True)
class Usage:
    """Tokens. `cached`: how many of `input` came from a cache."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None


@dataclass(slots=True)
class TextPart:
    type: ClassVar[str] = "text"
    text: str


@dataclass(slots=True)
class ReasoningPart:
    """`signature`: what its provider needs to accept it again, under the provider's name: `{"anthropic": {"signature": "…"}}`.

    A part without text only holds the signature of the part after it.
    """

    type: ClassVar[str] = "reasoning"
    text: str
    signature: Any = None


@dataclass(slots=True)
class ToolCallPart:
    """`input`: the arguments. A text if they are not a JSON object, for example because they were not received completely."""

    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    input: Any


@dataclass(slots=True)
class ToolResultPart:
    """`id` is that of the call. `name` of the tool, where the format gives it."""

    type: ClassVar[str] = "tool_result"
    id: str
    output: Any
    is_error: bool = False
    name: str | None = None


@dataclass(slots=True)
class FilePart:
    """The content is at `url`, in `data` (base64), or a file of this store (`file`: `sha256:…`)."""

    type: ClassVar[str] = "file"
    media_type: str
    name: str | None = None
    url: str | None = None
    file: str | None = None
    data: str | None = None


@dataclass(slots=True)
class SourcePart:
    type: ClassVar[str] = "source"
    url: str
    title: str | None = None


@dataclass(slots=True)
class DataPart:
    """All that has no other part. `FORMAT:TYPE` names a part that only FORMAT has; its value is the part as it was.

    A `data-NAME` of the AI SDK has its NAME. It stays whole where NAME has a meaning here: what anybody can name would get it.
    """

    type: ClassVar[str] = "data"
    name: str
    value: Any


type Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | FilePart | SourcePart | DataPart


@dataclass(slots=True)
class Neutral:
    """`role`: user, assistant, system or tool. `at`: an ISO 8601 time. `cost`: in US dollars.

    `left_out` names what the neutral form cannot hold: the number of the part (None: the message) and the field.
    """

    role: str
    parts: list[Part]
    model: str | None = None
    usage: Usage | None = None
    cost: float | None = None
    at: str | None = None
    left_out: list[tuple[int | None, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


_FIELDS = {
    kind: [each.name for each in fields(kind)]
    for kind in (TextPart, ReasoningPart, ToolCallPart, ToolResultPart, FilePart, SourcePart, DataPart)
}


def parts_as_json(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """The parts as pages, search and clients get them: `{"type": "tool_call", "id": …, "name": …, "input": …}`.

    Fields that are None are left out. Inner values are not copied.
    """
    return [
        {"type": part.type} | {name: value for name in _FIELDS[type(part)] if (value := getattr(part, name)) is not None}
        for part in parts
    ]


# As the chat and responses APIs of OpenAI call a text, and Gemini, whose parts have no type.
_TEXT_KINDS = {"text", "input_text", "output_text", ""}


def parts_from_json(parts: Iterable[dict[str, Any]]) -> list[Part]:
    """The parts of their JSON, or of a message that was stored without a format (as the AI SDK's).

    Never fails: what is not known becomes a `DataPart`.
    """
    return [made for part in parts for made in parts_of(part)]


def parts_of(part: dict[str, Any]) -> list[Part]:
    """One JSON object as parts. A tool's call and its result are one object in the AI SDK."""
    kind = part.get("type", "")
    kind = kind if isinstance(kind, str) else "part"
    if kind.startswith("tool-") or kind == "dynamic-tool":
        return _tool(kind, part)
    if kind in {"tool_call", "tool_result"} and isinstance(part.get("id"), str):
        return [_call_or_result(kind, part)]
    return [_simple(kind, part)]


def text_of(part: dict[str, Any]) -> str | None:
    """The text of a part that is one. None: it is another part."""
    kind, text = part.get("type", ""), part.get("text")
    said = text.get("value") if isinstance(text, dict) else text
    return said if isinstance(kind, str) and kind in _TEXT_KINDS and isinstance(said, str) else None


def _simple(kind: str, part: dict[str, Any]) -> Part:
    text = part.get("text")
    if (said := text_of(part)) is not None:
        return TextPart(said)
    if kind == "reasoning" and isinstance(text, str):
        return ReasoningPart(text, part.get("signature", part.get("providerMetadata")))
    if kind in {"file", "reasoning-file", "image", "image_url"} and (file := _file(part)):
        return file
    if kind in {"source", "source-url"} and isinstance(url := part.get("url"), str):
        return SourcePart(url, _string(part, "title"))
    if kind == "step-start":
        return DataPart(STEP_START, part)
    if kind == "data" and isinstance(name := part.get("name"), str):
        return DataPart(name, part.get("value"))
    if kind.startswith("data-") and "data" in part:
        return DataPart(_data_name(kind), part["data"])
    return DataPart(kind or "part", part)


def _data_name(kind: str) -> str:
    name = kind.removeprefix("data-")
    return kind if name == SYSTEM_PROMPT or ":" in name or name.startswith("data-") else name


def _call_or_result(kind: str, part: dict[str, Any]) -> Part:
    if kind == "tool_call":
        return ToolCallPart(part["id"], _string(part, "name") or "", part.get("input"))
    return ToolResultPart(part["id"], part.get("output"), part.get("is_error") is True, _string(part, "name"))


def _tool(kind: str, part: dict[str, Any]) -> list[Part]:
    """A tool of the AI SDK. It has a result once its state begins with `output-`, or if there is an output without a state."""
    name = (_string(part, "toolName") if kind == "dynamic-tool" else None) or kind.removeprefix("tool-")
    call_id, state = _string(part, "toolCallId") or "", _string(part, "state") or ""
    call = ToolCallPart(call_id, name, part.get("input", part.get("rawInput")))
    output, error = part.get("output"), part.get("errorText")
    if not state.startswith("output-") and output is None and error is None:
        return [call]
    if error is not None or state in {"output-error", "output-denied"}:
        return [call, ToolResultPart(call_id, error if error is not None else output or "denied", True, name)]
    return [call, ToolResultPart(call_id, output, says_error(output), name)]


def says_error(output: Any) -> bool:
    """True if a tool's output itself says that it is an error, as MCP's results do."""
    return isinstance(output, dict) and (output.get("isError") is True or output.get("is_error") is True)


def _file(part: dict[str, Any]) -> FilePart | None:
    """A file as the neutral form, the AI SDK or OpenAI's chat has it; None if nothing says where its content is."""
    url = next((part[name] for name in ("url", "image_url", "image") if part.get(name) is not None), None)
    url = url.get("url") if isinstance(url, dict) else url
    media_type = _string(part, "media_type") or _string(part, "mediaType") or _string(part, "mimeType") or ""
    name = _string(part, "name" if "name" in part else "filename")
    if (stored := stored_file(part)) is not None:
        return FilePart(media_type, name, file=stored)
    if isinstance(url, str):
        kind = "image/*" if str(part.get("type")).startswith("image") else ""
        return file_at(url, media_type or kind, name)
    file, data = _string(part, "file"), _string(part, "data")
    return FilePart(media_type, name, file=file, data=data) if file is not None or data is not None else None


def stored_file(part: dict[str, Any]) -> str | None:
    """The file of this store (`sha256:…`) that a part names: as `file` or, in OpenAI's messages, as `file_id`."""
    inner = part.get("file")
    named = (inner.get("file_id") if isinstance(inner, dict) else inner, part.get("file_id"))
    return next((one for one in named if isinstance(one, str) and one.startswith("sha256:")), None)


def file_at(url: str, media_type: str, name: str | None = None) -> FilePart:
    """A file by its URL. Of a plain base64 `data:` URL it takes the content and, if `media_type` is vague, its type."""
    head, comma, data = url.partition(",") if url.startswith("data:") else ("", "", "")
    own = head.removeprefix("data:").removesuffix(";base64")
    if comma and head.endswith(";base64") and own and ";" not in own and (own == media_type or media_type in {"", "image/*"}):
        return FilePart(own, name, data=data)
    return FilePart(media_type, name, url=url)


def _string(part: dict[str, Any], name: str) -> str | None:
    value = part.get(name)
    return value if isinstance(value, str) else None


class OpenCalls:
    """Calls without a result, by their id. An id that is used again means the later call; in one answer the first is first."""

    def __init__(self) -> None:
        self.last: dict[str, ToolCallPart] = {}
        self._calls: dict[str, tuple[int, deque[ToolCallPart]]] = {}
        self._answer = 0

    def begin(self, *, has_calls: bool) -> None:
        """The next message. The calls of messages that follow each other are those of one answer."""
        self._answer += not has_calls

    def add(self, call_id: str, call: ToolCallPart) -> None:
        answer, calls = self._calls.get(call_id, (-1, deque()))
        self._calls[call_id] = (self._answer, calls if answer == self._answer else deque())
        self._calls[call_id][1].append(call)
        self.last[call_id] = call

    def take(self, call_id: str, before: Part | None) -> ToolCallPart | None:
        """`before`: the part before the result. If it is such a call, the result is its own."""
        _, calls = self._calls.get(call_id, (0, deque[ToolCallPart]()))
        return None if not calls else calls.pop() if before is calls[-1] else calls.popleft()


class UnnamedCalls:
    """Calls without an id that have no result yet, in order: found by the tool's name in constant time."""

    def __init__(self) -> None:
        self._calls: dict[int, ToolCallPart] = {}
        self._by_name: defaultdict[str, deque[int]] = defaultdict(deque)
        self._count = 0

    def add(self, call: ToolCallPart) -> None:
        self._count += 1
        self._calls[self._count] = call
        self._by_name[call.name].append(self._count)

    def take(self, name: str | None) -> ToolCallPart | None:
        """The first of this tool; None: of any."""
        if name is None:
            first = next(iter(self._calls), None)
        else:
            places = self._by_name[name]
            while places and places[0] not in self._calls:
                places.popleft()
            first = places.popleft() if places else None
        return None if first is None else self._calls.pop(first)
