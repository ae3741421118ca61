"""Terminal agents' session files: one typed record per line. Claude Code, pi and Codex; pure.

Reads in file order, not by parents: results of parallel tool calls share a parent, and all of them count.
"""

from collections.abc import Iterable
from typing import Any

from sessions_app.portability.replay.conversation import Conversation, conversation

# Not a set: the value to look up may have any type, also an unhashable one.
SPEAKERS = ("user", "assistant")
Record = dict[str, Any]


def is_claude_record(item: Record) -> bool:
    marks = ("message", "uuid", "sessionId", "leafUuid")
    return isinstance(item.get("type"), str) and "role" not in item and any(mark in item for mark in marks)


def is_pi_file(items: list[Any]) -> bool:
    """Whether the first record gives the session and the format version, as in pi's files."""
    first = items[0] if items and isinstance(items[0], dict) else {}
    return first.get("type") == "session" and "version" in first and "cwd" in first


def is_codex_file(items: list[Any]) -> bool:
    return any(isinstance(item, dict) and item.get("type") == "session_meta" and "payload" in item for item in items)


def read_claude_code(records: list[Any], name: str) -> list[Conversation]:
    """One conversation per session id in the file: the file of a resumed session repeats lines of the earlier one."""
    by_session: dict[object, list[Any]] = {}
    current: object = _first_session(records)
    for record in records:
        if isinstance(record, dict) and isinstance(record.get("sessionId"), str):
            current = record["sessionId"]
        by_session.setdefault(current, []).append(record)
    titles = _titles(records)
    alone = len(by_session) == 1
    return [
        _read_claude_session(some, titles.get(session) or (titles.get(None) if alone else None), name)
        for session, some in by_session.items()
    ]


def read_pi(records: list[Any], name: str) -> Conversation:
    made = conversation(None, name)
    for record in records:
        message = record.get("message") if isinstance(record, dict) and record.get("type") == "message" else None
        if isinstance(message, dict):
            made.add(role=message.get("role"), content=message.get("content"), given_id=record.get("id"))
        else:
            made.skipped[_kind(record)] += 1
    return made


def read_codex(records: list[Any], name: str) -> Conversation:
    """Reads messages of `response_item` records; `event_msg` records repeat them."""
    made = conversation(None, name)
    for record in records:
        payload = record.get("payload") if isinstance(record, dict) else None
        spoken = isinstance(payload, dict) and record.get("type") == "response_item" and "role" in payload
        if spoken and isinstance(payload, dict):
            made.add(role=payload.get("role"), content=payload.get("content"), given_id=payload.get("id"))
        else:
            made.skipped[_kind(payload if isinstance(payload, dict) and "type" in payload else record)] += 1
    return made


def _read_claude_session(records: list[Any], title: object, name: str) -> Conversation:
    made = conversation(title, name)
    for record in records:
        if not isinstance(record, dict) or record.get("type") not in SPEAKERS:
            made.skipped[_kind(record)] += 1
        elif left_out := _not_spoken(record):
            made.skipped[left_out] += 1
        else:
            message = record.get("message")
            content = message.get("content") if isinstance(message, dict) else message
            made.add(role=record["type"], content=content, given_id=record.get("uuid"))
    return made


def _not_spoken(record: Record) -> str:
    """Why a record that looks like a turn is neither the user's message nor an answer to it."""
    if record.get("isSidechain") is True:
        return "sidechain"
    if record.get("isCompactSummary") is True:
        return "compaction summary"
    return "editor context" if record.get("isMeta") is True else ""


def _first_session(records: Iterable[Any]) -> object:
    """The session of lines before the first one that names its session."""
    named = (record.get("sessionId") for record in records if isinstance(record, dict))
    return next((session for session in named if isinstance(session, str)), None)


def _titles(records: list[Any]) -> dict[object, object]:
    """The last summary of each session, matched by the record it refers to; under None the last of all."""
    session_of = {record.get("uuid"): record.get("sessionId") for record in records if _has_text(record, "uuid")}
    found: dict[object, object] = {}
    for record in records:
        if isinstance(record, dict) and record.get("type") == "summary":
            about = session_of.get(record["leafUuid"]) if _has_text(record, "leafUuid") else None
            found[about if isinstance(about, str) else None] = found[None] = record.get("summary")
    return found


def _has_text(record: Any, name: str) -> bool:
    return isinstance(record, dict) and isinstance(record.get(name), str)


def _kind(record: Any) -> str:
    if not isinstance(record, dict):
        return "unreadable line"
    kind = record.get("type")
    return kind[:40] if isinstance(kind, str) and kind.isprintable() else "unknown record"
