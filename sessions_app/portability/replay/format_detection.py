"""Reads recorded chats. Pure: bytes in, conversations out.

Recordings come from many tools and versions, so no field is trusted to be there or to have its type.
"""

import json
from collections.abc import Iterable
from typing import Any

from sessions_app.portability.replay.agent_session_files import (
    is_claude_record,
    is_codex_file,
    is_pi_file,
    read_claude_code,
    read_codex,
    read_pi,
)
from sessions_app.portability.replay.chatgpt import read_chatgpt
from sessions_app.portability.replay.conversation import Conversation, conversation
from sessions_app.portability.replay.librechat import is_librechat, read_librechat

KNOWN = "OpenAI-style messages, Claude Code, Codex and pi session files, ChatGPT and LibreChat exports"


class UnknownTranscript(Exception):
    """The file holds no recorded chat that can be read."""


def read_transcript(raw: bytes, *, name: str) -> list[Conversation]:
    """Every conversation in the file, in its order; `name` is the title of those that have none."""
    value = _load(raw)
    if isinstance(value, dict):
        value = _unwrap(value)
    if not isinstance(value, list):
        raise UnknownTranscript(f"This file is JSON, but no recorded chat. Known: {KNOWN}.")
    return _read_list(value, name)


def _load(raw: bytes) -> Any:
    """The JSON value, or the list of a JSON Lines file's values."""
    text = raw.decode("utf-8-sig", errors="replace")
    try:
        return json.loads(text)
    except RecursionError:
        raise UnknownTranscript("This file is nested too deeply to be a recorded chat.") from None
    except ValueError:
        # Not `splitlines`: that also splits at U+2028, which may occur inside a JSON string.
        lines = [_load_line(line) for line in text.split("\n") if line.strip()]
    if not any(isinstance(line, dict) for line in lines):
        raise UnknownTranscript("This file is neither JSON nor JSON Lines.")
    return lines


def _load_line(line: str) -> Any:
    """None for an invalid line, such as the last one of a killed recorder; it is counted later."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _unwrap(value: dict[str, Any]) -> Any:
    """The list inside a wrapper object; a conversation object is kept whole to keep its title."""
    if {"mapping", "role", "sessionID"} & value.keys() or isinstance(value.get("messages"), list) or is_claude_record(value):
        return [value]
    return value.get("loglines")


def _read_list(items: list[Any], name: str) -> list[Conversation]:
    objects = [item for item in items if isinstance(item, dict)]
    if is_pi_file(items):
        return [read_pi(items, name)]
    if is_codex_file(items):
        return [read_codex(items, name)]
    if any("mapping" in item for item in objects):
        return [read_chatgpt(item, name=name) for item in items]
    if any(isinstance(item.get("messages"), list) for item in objects):
        return [_read_chat(item, name) for item in items]
    if any(is_claude_record(item) for item in objects):
        return read_claude_code(items, name)
    _refuse_unknown(items, objects)
    return [_read_messages(items, conversation(None, name))]


def _read_chat(item: Any, name: str) -> Conversation:
    """`{"messages": [...], "title"?: ...}`."""
    if isinstance(item, dict) and is_librechat(item):
        return read_librechat(item, name=name)
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
        # `content` of chat completions, or `parts` of frontends without `content`.
        content = message.get("content")
        content = message.get("parts") if content is None else content
        made.add(role=message.get("role"), content=content, given_id=message.get("id"))
    return made


def _refuse_unknown(items: list[Any], objects: list[dict[str, Any]]) -> None:
    """Raises UnknownTranscript for a list whose items are neither messages nor records."""
    if any("sessionID" in item for item in objects):
        raise UnknownTranscript(f"This is one file of an OpenCode store, which replay does not read. Known: {KNOWN}.")
    if items and not any("role" in item for item in objects):
        raise UnknownTranscript(f"This file is JSON, but its items are no messages, records or conversations. Known: {KNOWN}.")
