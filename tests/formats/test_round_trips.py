"""Messages made at random of the packages' own types: what is written of what was read is the same, or the loss is named."""

import json
from typing import Any

import pytest
from anthropic.types import MessageParam
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam

from sessions_app.formats.fields import arguments
from sessions_app.formats.neutral import Neutral, parts_as_json, parts_from_json
from sessions_app.formats.registry import FORMATS
from tests.formats.messages import others, stored, without, written
from tests.formats.typed import conforms, values_of

pytestmark = pytest.mark.once
# What changes the shape of the message, not only a field of it.
SHAPES = {"refusal", "function_call", "custom", "custom_tool_call", "custom_tool_call_output", "role"}
TYPES: dict[str, Any] = {
    "openai.chat": ChatCompletionMessageParam,
    "openai.responses": ResponseInputItemParam,
    "anthropic": MessageParam,
}
ENVELOPES = {
    "openai.chat": {"index"},
    "openai.responses": {"id", "status", "phase", "call_id", "name"},
    "anthropic": set(),
}
slow = settings(max_examples=60, suppress_health_check=list(HealthCheck))


def is_empty_thinking(block: dict[str, Any]) -> bool:
    return block.get("type") == "thinking" and not block.get("thinking") and not block.get("signature")


def plain(raw: dict[str, Any]) -> dict[str, Any]:
    """One form of what a package may write in two: a list of one plain text is the text, arguments are JSON."""
    raw = json.loads(json.dumps(raw))
    content = raw.get("content")
    if isinstance(content, list):
        # An empty text is none, and so is thinking without text and signature.
        content = [block for block in content if block.get("text") != "" and not is_empty_thinking(block)]
        single = len(content) == 1 and isinstance(content[0].get("text"), str)
        raw["content"] = content[0]["text"] if single else content
    if raw.get("role") and "type" not in raw:
        raw["type"] = "message"
    for call in raw.get("tool_calls") or []:
        if "function" in call:
            call["function"]["arguments"] = arguments(call["function"]["arguments"])
    if isinstance(raw.get("arguments"), str):
        raw["arguments"] = arguments(raw["arguments"])
    return raw


def same(name: str, raw: dict[str, Any], back: dict[str, Any], neutral: Neutral) -> bool:
    names = ENVELOPES[name] | {field for _, field in neutral.left_out}
    return bool(without(plain(raw), names) == without(plain(back), names))


@pytest.mark.parametrize("name", TYPES)
@slow
@given(data=st.data())
def test_what_is_written_is_what_was_read_or_the_loss_is_named(name: str, data: st.DataObject) -> None:
    raw = data.draw(values_of(TYPES[name]))
    before = json.dumps(raw)
    made = written(name, raw)
    (message,) = stored(name, raw)
    assert json.dumps(raw) == before
    assert all(conforms(item, TYPES[name]) for item in made.items), made.items
    assert parts_from_json(parts_as_json(message.neutral.parts)) == message.neutral.parts
    assume(not others(made, message.neutral))
    # The types allow results in answers, the API does not.
    assume(message.role != "assistant" or not any(part.type == "tool_result" for part in message.neutral.parts))
    assume(not {field for _, field in message.neutral.left_out} & SHAPES)
    if name == "openai.responses" and len(made.items) != 1:
        assert "".join(item["content"] for item in made.items) == message.neutral.text
        return
    assert len(made.items) == 1
    assert same(name, raw, made.items[0], message.neutral), made.items[0]


@pytest.mark.parametrize(
    "file",
    [{"file_data": "JVBERi0="}, {"file_data": "data:text/plain,Hello"}, {"file_data": "data:a/b;base64,AA==", "filename": ""}],
)
def test_content_of_a_file_is_written_where_it_was_read(file: dict[str, str]) -> None:
    raw = {"type": "message", "role": "user", "content": [{"type": "input_file", **file}]}
    (message,) = stored("openai.responses", raw)
    assert parts_from_json(parts_as_json(message.neutral.parts)) == message.neutral.parts
    assert same("openai.responses", raw, written("openai.responses", raw).items[0], message.neutral)


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("name", TYPES)
@settings(slow, max_examples=15)
@given(data=st.data())
def test_any_message_of_one_format_can_be_written_in_every_other(name: str, target: str, data: st.DataObject) -> None:
    raws = data.draw(st.lists(values_of(TYPES[name]), max_size=4))
    made = FORMATS[target].write(stored(name, *raws))
    assert len(made.items) == len(made.ids)
    assert all(ids for ids in made.ids)
    if target in TYPES:
        assert all(conforms(item, TYPES[target]) for item in made.items), made.items
    for item in made.items:
        FORMATS[target].read(item)
