"""Files whose content is only in a framework's own message: screenshots and pasted images, in base64."""

import json
from typing import Any

import orjson

from sessions_app.formats.neutral import FilePart
from sessions_app.formats.registry import Unreadable, format_of

# Characters of base64 that one page gets, in its newest messages. Other files are named.
MOST_CHARACTERS = 3_000_000


def add_contents(items: list[dict[str, Any]], parts: list[list[Any]]) -> None:
    """Put the content back into parts that were stored without it, the newest messages first."""
    left = MOST_CHARACTERS
    for item, own in zip(reversed(items), reversed(parts), strict=True):
        empty = [number for number, part in enumerate(own) if _is_without_content(part)]
        read = _read(item) if empty and left > 0 else []
        # As many as were stored, in the same order; another number was written by another version of the format.
        if len(read) != len(own):
            continue
        for number in empty:
            file = read[number]
            if isinstance(file, FilePart) and file.data is not None and len(file.data) <= left:
                own[number] = {**own[number], "data": file.data}
                left -= len(file.data)


def _is_without_content(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "file" and not any(part.get(name) for name in ("url", "file", "data"))


def _read(item: dict[str, Any]) -> list[Any]:
    known = format_of(item["format"]) if item.get("format") else None
    if known is None or "raw" not in item:
        return []
    try:
        return list(known.read(json.loads(orjson.dumps(item["raw"]))).parts)
    except Unreadable:
        return []
