"""A session as Markdown, for people to read."""

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any, BinaryIO

import orjson

from sessions_app.chats.reading.messages import page_after
from sessions_app.chats.reading.sessions import SessionRow, get_session
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

AT_ONCE = 50
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
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
    if message["text"]:
        blocks.append(closed(message["text"].rstrip()) + "\n")
    # Stored JSON is returned as unparsed text: parse it as a client would.
    extras = json.loads(orjson.dumps({name: message.get(name) for name in ("parts", "raw")}))
    blocks += [block for part in parts_from_json(extras["parts"]) if (block := _part(part))]
    if not message["text"] and extras["raw"] is not None:
        blocks.append(_block(extras["raw"]))
    return "\n".join(blocks)


def closed(text: str) -> str:
    """`text` with an open code fence closed, so that the fence does not include what follows."""
    fence = ""
    for line in text.splitlines():
        found = _FENCE.fullmatch(line)
        if found is None:
            continue
        marks, rest = found.groups()
        if not fence:
            # A line that starts with backticks and has more of them later is inline code.
            fence = "" if marks[0] == "`" and "`" in rest else marks
        elif marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip():
            fence = ""
    return f"{text}\n{fence}" if fence else text


def _part(part: Part) -> str:
    """A part in words, or as JSON; empty if the message's text has it already, or if it shows nothing."""
    match part:
        case TextPart():
            return ""
        case DataPart(name=name) if name == STEP_START:
            return ""
        case ReasoningPart(text=text):
            return "".join(f"> {line}\n" for line in closed(text.strip()).splitlines())
        case ToolCallPart(name=name, input=value):
            return f"**Call of {_line(name)}**\n" + ("" if value is None else f"\n{_block(value)}")
        case ToolResultPart(name=name, output=value, is_error=failed):
            return f"**{'Error' if failed else 'Result'}{f' of {_line(name)}' if name else ''}**\n\n{_block(value)}"
        case _:
            return _block(parts_as_json([part])[0])


def _block(value: Any) -> str:
    """Any JSON as code, in a fence longer than any run of backticks inside."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}json\n{text}\n{fence}\n"


def _line(text: str) -> str:
    """The text as one line without Markdown meaning."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
