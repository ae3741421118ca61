"""A session as Markdown, for people to read."""

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson

from sessions_app.chats.reading.messages import page_after
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.core.storage.snapshot_reads import one_moment
from sessions_app.formats.neutral import (
    STEP_START,
    DataPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    parts_as_json,
    parts_from_json,
)
from sessions_app.models import Caller
from sessions_app.portability.exports.contained_markdown import contained, fenced

AT_ONCE = 50
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!])")


def export_markdown(*, caller: Caller, session_id: uuid.UUID, to: BinaryIO) -> None:
    """Title, dates, and every live message. Unknown → 404; in the trash → 410."""
    with one_moment():
        row = get_session(caller=caller, session_id=session_id)
        to.write(_head(row).encode())
        for message in _messages(row):
            to.write(_message(message).encode())


def _head(row: SessionRow) -> str:
    facts = [f"project {_line(row.project_path)}", f"begun {row.created_at}", f"last changed {row.updated_at}"]
    facts.append(f"{row.message_count} messages" if row.message_count != 1 else "1 message")
    return f"# {_line(row.title or 'Untitled')}\n\n" + "".join(f"- {fact}\n" for fact in facts)


def _messages(row: SessionRow) -> Iterator[dict[str, Any]]:
    position, more = 0, True
    while more:
        page = page_after(session_id=row.id, live=row.live, position=position, limit=AT_ONCE)
        yield from page.items
        more = page.more and bool(page.items)
        position = page.items[-1]["position"] if page.items else position


def _message(message: dict[str, Any]) -> str:
    state = "" if message["status"] == "complete" else f", {message['status']}"
    blocks = [f"\n## {message['role'].capitalize()} · {message['created_at']}{state}\n"]
    # Stored JSON is returned as unparsed text: parse it as a client would.
    extras = json.loads(orjson.dumps({name: message.get(name) for name in ("parts", "raw")}))
    parts = parts_from_json(extras["parts"])
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    if message["text"] not in clean_text("".join(texts)):
        parts.insert(0, TextPart(message["text"]))
    blocks += [block for part in parts if (block := _part(part))]
    if not message["text"] and not any(texts) and extras["raw"] is not None:
        blocks.append(_block(extras["raw"]))
    return "\n".join(blocks)


def _part(part: Part) -> str:
    """A part in words, or as JSON; empty if it shows nothing."""
    match part:
        case TextPart(text=text):
            return f"{contained(text.rstrip())}\n" if text.strip() else ""
        case DataPart(name=name) if name == STEP_START:
            return ""
        case ReasoningPart(text=text):
            return "".join(f"> {line}\n" for line in contained(text.strip()).split("\n")) if text.strip() else ""
        case ToolCallPart(name=name, input=value):
            return f"**Call of {_line(name)}**\n" + ("" if value is None else f"\n{_block(value)}")
        case ToolResultPart(name=name, output=value, is_error=failed):
            return f"**{'Error' if failed else 'Result'}{f' of {_line(name)}' if name else ''}**\n\n{_block(value)}"
        case _:
            return _block(parts_as_json([part])[0])


def _block(value: Any) -> str:
    """Any JSON as code."""
    return fenced(json.dumps(value, ensure_ascii=False, indent=2), "json") + "\n"


def _line(text: str) -> str:
    """The text as one line without Markdown meaning."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
