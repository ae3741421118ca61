"""Reads recorded chats: OpenAI-style messages, Claude Code records, ChatGPT exports. Pure: bytes in, conversations out.

Recordings come from many tools and versions, so no field is trusted to be there or to have its type.
"""

import json
from collections.abc import Iterable
from typing import Any

from sessions_app.replay.chatgpt import read_chatgpt
from sessions_app.replay.turns import Conversation, conversation

# Not a set: what is looked for in it may be of any type, lists too.
SPEAKERS = ("user", "assistant")


class UnknownTranscript(Exception):
    """The file holds no recorded chat that can be read."""


def read_transcript(raw: bytes, *, name: str) -> list[Conversation]:
    """Every conversation in the file, in its order; `name` is the title of those that have none."""
    value = _load(raw)
    if isinstance(value, dict):
        value = _unwrap(value)
    if not isinstance(value, list):
        raise UnknownTranscript(
            "This file is JSON, but no recorded chat. Known: OpenAI-style messages, Claude Code, ChatGPT exports."
        )
    return _read_list(value, name)


def _load(raw: bytes) -> Any:
    """The JSON value, or the list of a JSON Lines file's values."""
    text = raw.decode("utf-8-sig", errors="replace")
    try:
        return json.loads(text)
    except RecursionError:
        raise UnknownTranscript("This file is nested too deeply to be a recorded chat.") from None
    except ValueError:
        # Not `splitlines`: that also breaks at U+2028, which may stand inside a JSON string.
        lines = [_load_line(line) for line in text.split("\n") if line.strip()]
    if not any(isinstance(line, dict) for line in lines):
        raise UnknownTranscript("This file is neither JSON nor JSON Lines.")
    return lines


def _load_line(line: str) -> Any:
    """None for a line that cannot be read, such as the last one of a recorder that was killed; it is counted later."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _unwrap(value: dict[str, Any]) -> Any:
    """One object as a list of what it holds; its own title is kept by leaving a conversation whole."""
    if {"mapping", "role"} & value.keys() or isinstance(value.get("messages"), list) or _is_claude_record(value):
        return [value]
    return value.get("loglines")


def _read_list(items: list[Any], name: str) -> list[Conversation]:
    objects = [item for item in items if isinstance(item, dict)]
    if any("mapping" in item for item in objects):
        return [read_chatgpt(item, name=name) for item in items]
    if any(isinstance(item.get("messages"), list) for item in objects):
        return [_read_chat(item, name) for item in items]
    if any(_is_claude_record(item) for item in objects):
        return [_read_claude_code(items, name)]
    if items and not any("role" in item for item in objects):
        raise UnknownTranscript("This file is JSON, but its items are no messages, records or conversations that are known.")
    return [_read_messages(items, conversation(None, name))]


def _read_chat(item: Any, name: str) -> Conversation:
    """`{"messages": [...], "title"?: ...}`."""
    chat = item if isinstance(item, dict) else {}
    messages = chat.get("messages")
    made = conversation(chat.get("title"), name)
    if not isinstance(messages, list):
        made.skipped["not a conversation"] += 1
        return made
    return _read_messages(messages, made)


def _read_messages(messages: Iterable[Any], made: Conversation) -> Conversation:
    for message in messages:
        if not isinstance(message, dict):
            made.skipped["not a message"] += 1
            continue
        # `content` of chat completions, or the `parts` of frontends that have no content.
        content = message.get("content")
        content = message.get("parts") if content is None else content
        made.add(role=message.get("role"), content=content, given_id=message.get("id"))
    return made


def _is_claude_record(item: dict[str, Any]) -> bool:
    marks = ("message", "uuid", "sessionId", "leafUuid")
    return isinstance(item.get("type"), str) and "role" not in item and any(mark in item for mark in marks)


def _read_claude_code(records: list[Any], name: str) -> Conversation:
    """In the file's order, not along `parentUuid`: answers to parallel tool calls share a parent, and all of them count."""
    made = conversation(_last_summary(records), name)
    for record in records:
        if not isinstance(record, dict):
            made.skipped["unreadable line"] += 1
        elif record.get("type") not in SPEAKERS:
            kind = record.get("type")
            made.skipped[kind[:40] if isinstance(kind, str) and kind.isprintable() else "unknown record"] += 1
        elif record.get("isSidechain") is True:
            # A helper's own chat with the agent: neither what the person wrote nor what they were answered.
            made.skipped["sidechain"] += 1
        else:
            message = record.get("message")
            content = message.get("content") if isinstance(message, dict) else message
            made.add(role=record["type"], content=content, given_id=record.get("uuid"))
    return made


def _last_summary(records: list[Any]) -> object:
    summaries = [record.get("summary") for record in records if isinstance(record, dict) and record.get("type") == "summary"]
    return summaries[-1] if summaries else None
