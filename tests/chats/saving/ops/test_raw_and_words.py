"""A framework's own message in `raw`, and words that are sent beside it: these count, and then `raw` need not be readable."""

import json
from typing import Any

import pytest

from sessions_app.chats.reading.frameworks.framework_messages import MOST_PARTS
from sessions_app.chats.saving.message_input import REASONS, Rejected, read_message

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
READABLE = {"role": "assistant", "content": None, "tool_calls": [CALL]}
PARTS = [{"type": "text", "text": "in a part"}]


def op(raw: Any = READABLE, **more: Any) -> dict[str, Any]:
    return {"op": "upsert", "id": "m", "format": "openai.chat", "raw": raw, **more}


def test_the_parts_of_raw_are_taken_where_no_words_are_sent() -> None:
    assert json.loads(read_message(op()).content.parts or "")[0]["type"] == "tool_call"
    assert read_message(op(text="sent")).content.parts is None
    assert json.loads(read_message(op(parts=PARTS)).content.parts or "") == PARTS


@pytest.mark.parametrize("words", [{"text": "sent"}, {"parts": PARTS}, {"text": "sent", "parts": PARTS}])
def test_raw_need_not_be_readable_beside_a_role_and_words(words: dict[str, Any]) -> None:
    content = read_message(op({"role": "nobody"}, role="assistant", **words)).content
    assert content.text == words.get("text", "in a part")


@pytest.mark.parametrize("beside", [{}, {"role": "assistant"}, {"text": "sent"}, {"parts": PARTS}])
def test_else_it_is_refused_with_the_reason(beside: dict[str, Any]) -> None:
    with pytest.raises(Rejected, match=r"^unreadable_raw$") as refused:
        read_message(op({"role": "user", "content": [{}] * (MOST_PARTS + 1)}, **beside))
    assert refused.value.message == f"{REASONS['unreadable_raw']} A message has at most {MOST_PARTS:,} parts."


def test_without_raw_and_words_a_message_is_empty() -> None:
    assert read_message({"op": "upsert", "id": "m", "role": "user"}).content.text == ""
