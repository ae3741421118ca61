"""Whatever is sent: reading gives a message or `Unreadable`, recognising gives an answer, and both change nothing."""

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sessions_app.formats.conversion import convert
from sessions_app.formats.fields import Unreadable, arguments
from sessions_app.formats.neutral import DataPart, Neutral, Part, ToolCallPart, ToolResultPart, parts_as_json, parts_from_json
from sessions_app.formats.registry import FORMATS, detect, format_of
from sessions_app.formats.writing import Stored
from tests.formats.typed import JSON
from tests.support.suite import is_patient

pytestmark = pytest.mark.once
NAMES = """
role content parts type text user assistant model system tool human ai data kwargs lc id request response kind part_kind
tool_calls function name arguments function_call function_call_output call_id output tool_use tool_result input thinking
signature source image_url url file functionCall functionResponse args thought thoughtSignature inlineData mimeType
tool-call tool-return user-prompt text-delta dynamic-tool tool-x toolCallId state output-available output-error errorText
reasoning summary usage metadata annotations additional_kwargs usage_metadata invalid_tool_calls tool_call_id refusal
input_text output_text input_image input_audio message custom base64 reasoning_content data-x file_data index status
"""
WORDS = NAMES.split()
LEAVES = st.sampled_from([None, True, False, 0, 1.5, -1, "", "\x00", "data:image/png;base64,AA", "{", "[]", *WORDS])
KEYS = st.sampled_from(WORDS)
# Values that come close to messages.
CLOSE = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=20)
ROLES = st.sampled_from(["user", "assistant", "model", "system", "developer", "tool", "function", "human", "ai", "request"])
FIELDS = st.sampled_from(["content", "parts", "data", "kwargs", "tool_calls", "arguments", "usage", "id", "type"])
MESSAGES = st.builds(
    lambda message, role: {**message, "role": role, "type": message.get("type", role), "kind": role},
    st.dictionaries(FIELDS, CLOSE),
    ROLES,
)
# As a JSON Schema has it: a `type` that is no text.
ODD: list[Any] = [{"type": ["string", "null"], "title": "x-odd"}, {"type": {"a": 1}}]
NAMED = st.builds(
    lambda form, kind, value: {"type": "data", "name": f"{form}:{kind}", "value": value},
    st.sampled_from([*FORMATS]),
    st.sampled_from(WORDS),
    st.dictionaries(KEYS, CLOSE, max_size=3),
)
HOSTILE = ["[" * 100_000, '{"a":' * 100_000, '{"a": NaN}', '{"a": 1e999}', '{"a": 1, "a": 2}', "9" * 5_000, "", "[1]"]
often = settings(max_examples=100 if is_patient() else 40, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", FORMATS)
@often
@given(raw=JSON | CLOSE | MESSAGES)
@example(raw={"role": [], "content": {}, "type": {}, "kind": []})
def test_any_value_is_read_or_refused(name: str, raw: Any) -> None:
    before = copy.deepcopy(raw)
    assert isinstance(FORMATS[name].detect(raw), bool)
    with suppress(Unreadable):
        neutral = FORMATS[name].read(raw)
        assert neutral.role in {"user", "assistant", "system", "tool"}
        assert isinstance(neutral.text, str)
        assert parts_from_json(parts_as_json(neutral.parts)) == neutral.parts
        json.dumps(parts_as_json(neutral.parts), allow_nan=False)
        for target in FORMATS:
            for repair in (False, True):
                made = convert([Stored("m", neutral.role, None, None, neutral)], target, repair=repair)
                assert len(made.items) == len(made.ids)
    assert raw == before


@often
@given(raw=JSON | CLOSE | MESSAGES)
def test_recognising_never_fails_and_what_it_names_can_be_tried(raw: Any) -> None:
    assert detect(raw) in {None, *FORMATS}


@often
@given(parts=st.lists(st.dictionaries(KEYS, CLOSE, max_size=6) | NAMED), role=st.sampled_from(["user", "assistant", "tool"]))
@example(parts=[{"type": "tool_result", "id": "c", "output": ODD}], role="tool")
@example(parts=[{"type": "data", "name": "openai.responses:part", "value": ODD[0]}], role="user")
@example(parts=[{"type": "data", "name": "anthropic:text", "value": {"type": "text"}}], role="assistant")
def test_any_stored_parts_are_read_and_written(parts: list[dict[str, Any]], role: str) -> None:
    made = parts_from_json(parts)
    assert len(made) >= len(parts)
    assert parts_from_json(parts_as_json(made)) == made
    for target in FORMATS:
        for own in (None, *FORMATS):
            converted = convert([Stored("m", role, own, None, Neutral(role, made))], target)
            json.dumps(converted.items, allow_nan=False)


@pytest.mark.parametrize("output", [ODD, {"schema": ODD}, [[ODD]], ODD[0]])
@pytest.mark.parametrize("target", FORMATS)
def test_any_output_of_a_tool_is_written(target: str, output: Any) -> None:
    parts: list[Part] = [ToolCallPart("c", "f", {"schema": output}), ToolResultPart("c", output)]
    made = convert([Stored("m", "assistant", None, None, Neutral("assistant", parts))], target, repair=True)
    assert ODD[0]["title"] in json.dumps(made.items)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, '{"a": NaN}', '{"a": 1e999}', '{"a": 1, "a": 2}', "9" * 5_000, "", "[1]"]
)
def test_arguments_that_are_not_exactly_one_object_stay_the_text_that_they_are(text: str) -> None:
    assert arguments(text) == text


def test_arguments_that_no_database_can_hold_stay_text() -> None:
    assert arguments('{"a": "\\ud800"}') == '{"a": "\\ud800"}'
    assert arguments('{"a": "\\u00e9"}') == {"a": "é"}
    deep = '{"a": ' + "[" * 60 + "]" * 60 + "}"
    assert arguments(deep) == deep
    wide = json.dumps({"rows": [[1]] * 100})
    assert arguments(wide) == json.loads(wide)


def test_there_is_no_format_of_another_name() -> None:
    assert format_of("openai.chat") is FORMATS["openai.chat"]
    assert format_of("unknown") is None
    assert format_of(None) is None
    assert all(name == each.name for name, each in FORMATS.items())


def test_a_part_of_an_unknown_type_is_kept_and_named() -> None:
    new = {"type": "hologram", "beams": 3}
    for name, role in (("anthropic", "assistant"), ("openai.chat", "user"), ("openai.responses", "user")):
        neutral = FORMATS[name].read({"role": role, "content": [new]})
        assert neutral.parts == [DataPart(f"{name}:hologram", new)]
    assert FORMATS["ai-sdk"].read({"role": "user", "parts": [new]}).parts == [DataPart("ai-sdk:hologram", new)]
    assert FORMATS["gemini"].read({"parts": [{"hologram": 3}]}).parts == [DataPart("gemini:part", {"hologram": 3})]
