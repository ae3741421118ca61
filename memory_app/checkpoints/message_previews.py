"""The messages among the values of a graph's state, as a conversation that people read. Pure."""

import json
from dataclasses import dataclass
from typing import Any

from memory_app.checkpoints.value_previews import CUT, Instance, as_json
from sessions_app.formats.neutral import Neutral, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from sessions_app.formats.registry import Unreadable, format_of
from sessions_app.formats.writing import text_of

LINE = 200


@dataclass(frozen=True, slots=True)
class MessagePart:
    """`kind`: text, reasoning, call, result or other. `name`: of a tool or of another kind of part. `line`: its beginning.
    `value`: a call's arguments, or another part as JSON."""

    kind: str
    text: str = ""
    name: str = ""
    line: str = ""
    value: Any = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class MessagePreview:
    """`role`: user, assistant, system or tool. `name`: of the agent or person that says it, where there are several."""

    role: str
    parts: list[MessagePart]
    name: str = ""

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts if part.kind in {"text", "result"})


def messages_of(value: Any) -> list[MessagePreview] | None:
    """The messages of a decoded value, which is a message or has nothing else; else None."""
    items = value if isinstance(value, list) else [value]
    made = list[MessagePreview]()
    for item in items:
        message = _message(item)
        if message is None:
            return None
        made.append(message)
    return made or None


def one_line(value: Any) -> str:
    """The beginning of a text, or of a decoded value as JSON, in one line."""
    text = value if isinstance(value, str) else json.dumps(as_json(value), ensure_ascii=False)
    short = " ".join(text[: 4 * LINE].split())
    return short if len(short) <= LINE and len(text) <= 4 * LINE else short[:LINE] + CUT


def _message(value: Any) -> MessagePreview | None:
    match value:
        case Instance(name=kind, content={"content": _} as fields):
            raw, format_name = {"type": kind, **as_json(fields)}, "langchain"
        case {"type": str(), "content": _, "additional_kwargs": _}:
            raw, format_name = as_json(value), "langchain"
        # What a graph without LangChain keeps: role and content, as most endpoints take it.
        case {"role": str(), "content": str() | list()}:
            raw, format_name = as_json(value), "openai.chat"
        case _:
            return None
    neutral = _neutral(format_name, raw)
    if neutral is None:
        return None
    name = raw.get("name")
    is_named = isinstance(name, str) and neutral.role != "tool"  # A tool's name is with its result.
    return MessagePreview(neutral.role, [_part(part) for part in neutral.parts], str(name) if is_named else "")


def _neutral(format_name: str, raw: dict[str, Any]) -> Neutral | None:
    found = format_of(format_name)
    try:
        return None if found is None else found.read(raw)
    except Unreadable:
        return None


def _part(part: Part) -> MessagePart:
    match part:
        case TextPart(text):
            return MessagePart("text", text)
        case ReasoningPart(text):
            return MessagePart("reasoning", text)
        case ToolCallPart(_, name, given):
            return MessagePart("call", name=name, line=one_line(given), value=given)
        case ToolResultPart(_, output, failed, name):
            text = text_of(output)
            return MessagePart("result", text, name or "", one_line(text), failed=failed)
    name = getattr(part, "media_type", "") or getattr(part, "name", "") or part.type
    told = getattr(part, "value", None) or getattr(part, "url", None)
    return MessagePart("other", name=name, line=one_line(told) if told else "", value=told)
