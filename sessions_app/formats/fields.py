"""Reading fields of a raw message. What has another type than the format says is refused as `Unreadable`."""

import json
import math
from collections.abc import Iterable
from typing import Any, Never

from sessions_app.core.serialization.json_text import written_float, written_integer

# Arguments of tools that are nested deeper than a request may be stay the text that they are.
_MAX_DEPTH = 48


class Unreadable(ValueError):
    """The raw message is not of this format. The message says what was expected, never what was sent."""


def object_of(value: Any, what: str = "A message") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"{what} is a JSON object.")
    return value


def list_of(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"{what} is a list.")
    return value


def text_in(raw: dict[str, Any], name: str) -> str:
    """A text that must be there."""
    value = raw.get(name)
    if not isinstance(value, str):
        raise Unreadable(f"`{name}` is a text.")
    return value


def optional_text(raw: dict[str, Any], name: str) -> str | None:
    """A text that may be absent or null."""
    return None if raw.get(name) is None else text_in(raw, name)


def optional_object(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """An object that may be absent or null: then it is empty."""
    return {} if raw.get(name) is None else object_of(raw[name], f"`{name}`")


def optional_list(raw: dict[str, Any], name: str) -> list[Any]:
    return [] if raw.get(name) is None else list_of(raw[name], f"`{name}`")


def role_in(raw: dict[str, Any], roles: Iterable[str]) -> str:
    role = raw.get("role")
    if not isinstance(role, str) or role not in roles:
        raise Unreadable(f"`role` is one of {', '.join(roles)}.")
    return role


def count_in(raw: dict[str, Any], name: str) -> int | None:
    """A number of tokens. Anything else is not told."""
    value = raw.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def unknown(raw: dict[str, Any], known: frozenset[str]) -> list[str]:
    """The names of fields that are not known and not empty."""
    if raw.keys() <= known:
        return []
    return [name for name, value in raw.items() if name not in known and not _empty(value)]


def _empty(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, (str, list, dict)) and not value)


def without_files(output: Any) -> tuple[Any, int]:
    """A tool's output without the blocks that are files, and how many these were. MCP's output has its blocks in `content`."""
    if isinstance(output, dict) and isinstance(output.get("content"), list):
        content, count = without_files(output["content"])
        return {**output, "content": content}, count
    if not isinstance(output, list):
        return output, 0
    kept = [block for block in output if not _is_file(block)]
    return (kept, len(output) - len(kept)) if len(kept) < len(output) else (output, 0)


def _is_file(block: Any) -> bool:
    """A block that has a file as Anthropic, OpenAI, MCP or LangChain write it, and not an entry of a list of files."""
    match block:
        case {"type": "image" | "document", "source": dict()}:
            return True
        case {"type": "input_image" | "image_url", "image_url": str() | dict()} | {"type": "input_audio", "input_audio": dict()}:
            return True
        case {"type": "input_file", "file_data": str()} | {"type": "input_image" | "input_file", "file_id": str()}:
            return True
        case {"type": "input_file", "file_url": str()} | {"type": "file", "file": {"file_data": str()} | {"file_id": str()}}:
            return True
        case {"type": "image" | "audio" | "video" | "file", "data": str(), "mimeType": str()}:
            return True
        case {"type": "image" | "audio" | "video" | "file", "base64": str()}:
            return True
    return False


def arguments(text: str) -> Any:
    """A tool call's arguments as an object, or `text` itself if it is not exactly one JSON object.

    Numbers keep their notation.
    """
    try:
        value = _DECODER.decode(text)
        if not isinstance(value, dict) or _too_deep(text, value):
            return text
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return text
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("the same key twice")
    return made


def _finite(text: str) -> float:
    number = written_float(text)
    if math.isinf(number):
        raise ValueError("beyond a double's range")
    return number


def _refuse_constant(name: str) -> Never:
    raise ValueError(name)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_finite, parse_int=written_integer, parse_constant=_refuse_constant
)


def _too_deep(text: str, value: Any) -> bool:
    if text.count("[") + text.count("{") <= _MAX_DEPTH:
        return False
    level = [value]
    for _ in range(_MAX_DEPTH):
        children = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
        level = [child for child in children if isinstance(child, (dict, list))]
        if not level:
            return False
    return True
