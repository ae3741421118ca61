"""Recorded chats: every message that is in one of the formats is recognised and read."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessions_app.formats.registry import FORMATS, detect

SAMPLES = os.environ.get("STILLHERE_SAMPLES", "")
pytestmark = [pytest.mark.once, pytest.mark.skipif(not SAMPLES, reason="STILLHERE_SAMPLES names no folder of recorded chats")]


def records(path: Path) -> Iterator[Any]:
    if path.suffix == ".jsonl":
        for line in path.read_text().splitlines():
            yield json.loads(line)
    else:
        whole = json.loads(path.read_text())
        yield from whole if isinstance(whole, list) else whole.get("loglines") or whole.get("messages") or []


def messages(name: str) -> list[tuple[str, Any]]:
    """Format and message of every record of one folder that has a message."""
    found: list[tuple[str, Any]] = []
    for path in sorted(Path(SAMPLES, name).iterdir()):
        for record in records(path):
            if name == "chat_completions":
                found.append(("openai.chat", record))
            elif name == "codex" and record["type"] == "response_item":
                found.append(("openai.responses", record["payload"]))
            elif name.startswith("claude_code") and isinstance(record.get("message"), dict):
                found.append(("anthropic", record["message"]))
    return found


@pytest.mark.parametrize(
    ("name", "least"), [("chat_completions", 28), ("codex", 3), ("claude_code", 50), ("claude_code_like", 10)]
)
def test_every_recorded_message_is_recognised_and_read(name: str, least: int) -> None:
    found = messages(name)
    assert len(found) >= least
    for expected, raw in found:
        neutral = FORMATS[expected].read(raw)
        assert neutral.parts or not raw.get("content")
        assert detect(raw) == ("openai.chat" if is_plain(raw) else expected), raw
        assert not is_plain(raw) or neutral.parts == FORMATS["openai.chat"].read(raw).parts


def is_plain(raw: dict[str, Any]) -> bool:
    """A role with nothing but text is the same in several formats: it counts as of the last one, which reads it alike."""
    content = raw.get("content")
    if not raw.keys() <= {"role", "content"} or (isinstance(content, list) and raw["role"] == "assistant"):
        return False
    return isinstance(content, str) or (
        isinstance(content, list) and all(block == {"type": "text", "text": block.get("text")} for block in content)
    )
