"""Blocks of the content of LangChain's messages: its own standard ones, and those of providers that it passes through."""

from typing import Any

from sessions_app.formats.fields import object_of, optional_text, text_in, unknown
from sessions_app.formats.neutral import FilePart, Neutral, Part, ReasoningPart, TextPart, ToolCallPart, file_at
from sessions_app.formats.writing import Converted, Turn, cannot, kept, lose_name, lose_signature, own_part

NAME = "langchain"
_FILES = {"image": "image/*", "audio": "audio/*", "video": "video/*", "file": "", "text-plain": "text/plain"}
# The number of a block within a stream, and a block's id, are its envelope.
_ENVELOPE = frozenset({"type", "id", "index"})
_CALLS = {"tool_use", "tool_call", "function_call", "tool_call_chunk", "input_json_delta"}


def read_block(block: dict[str, Any], made: Neutral, call_ids: set[str]) -> None:
    """Add the block's parts. Calls that are also in the message's `tool_calls` (`call_ids`) are not repeated."""
    kind, number = block.get("type"), len(made.parts)
    kind = kind if isinstance(kind, str) else ""
    if kind in _CALLS and (
        block.get("id") in call_ids or block.get("call_id") in call_ids if _has_ids(block) else bool(call_ids)
    ):
        return
    part, known = _part(kind, block)
    made.parts.append(part)
    made.left_out += [(number, name) for name in unknown(block, _ENVELOPE | known)] if known else []
    if kind == "image_url":
        made.left_out.append((number, "image_url"))


def _has_ids(block: dict[str, Any]) -> bool:
    return isinstance(block.get("id"), str) and isinstance(block.get("call_id", ""), str)


def _part(kind: str, block: dict[str, Any]) -> tuple[Part, set[str]]:
    """The part, and the fields that it holds. Without any, it is the block as it was."""
    if kind == "text":
        return TextPart(text_in(block, "text")), {"text"}
    if kind == "reasoning":
        extras = block.get("extras")
        text = optional_text(block, "reasoning") or ""
        return ReasoningPart(text, {NAME: extras} if isinstance(extras, dict) and extras else None), {"reasoning", "extras"}
    if kind == "thinking":
        signature = optional_text(block, "signature")
        return ReasoningPart(text_in(block, "thinking"), {"anthropic": {"signature": signature}} if signature else None), {
            "thinking",
            "signature",
        }
    if kind == "tool_use":
        call = ToolCallPart(optional_text(block, "id") or "", optional_text(block, "name") or "", block.get("input"))
        return call, {"name", "input"}
    if kind == "image_url":
        image = block.get("image_url")
        url = image if isinstance(image, str) else text_in(object_of(image, "`image_url`"), "url")
        return file_at(url, "image/*"), {"image_url"}
    file = _file(kind, block) if kind in _FILES else None
    return (kept(NAME, block), set()) if file is None else (file, {"url", "base64", "mime_type", "source_type", "data", "text"})


def _file(kind: str, block: dict[str, Any]) -> FilePart | None:
    media_type = optional_text(block, "mime_type") or _FILES[kind]
    data = block.get("base64", block.get("data"))
    if isinstance(data, str):
        return FilePart(media_type, data=data)
    if isinstance(url := block.get("url"), str):
        return FilePart(media_type, url=url)
    return None


def write_block(made: Converted, turn: Turn, number: int, part: Part) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if (own := own_part(turn, part, NAME)) is not None:
        return own
    if isinstance(part, ReasoningPart) and turn.role == "assistant":
        return _reasoning(made, turn, number, part)
    if isinstance(part, FilePart) and (part.data is not None or part.url is not None):
        kind = part.media_type.partition("/")[0]
        where = {"base64": part.data} if part.data is not None else {"url": part.url}
        block = {"type": kind if kind in {"image", "audio", "video"} else "file"} | where
        lose_name(made, turn, number, part)
        return block | ({"mime_type": part.media_type} if part.media_type and not part.media_type.endswith("*") else {})
    cannot(made, turn, number, part)
    return None


def _reasoning(made: Converted, turn: Turn, number: int, part: ReasoningPart) -> dict[str, Any] | None:
    signature = part.signature if isinstance(part.signature, dict) else {}
    own = signature.get("anthropic")
    if isinstance(own, dict) and isinstance(own.get("signature"), str):
        return {"type": "thinking", "thinking": part.text, "signature": own["signature"]}
    extras = lose_signature(made, turn, number, signature, NAME)
    if not part.text and not extras:
        return None
    return {"type": "reasoning", "reasoning": part.text} | ({"extras": extras} if extras else {})
