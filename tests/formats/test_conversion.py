"""A conversation of one format as each other one, as the other framework's package judges it."""

import gc
import json
import re
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.formats.conversion import Converted, convert
from sessions_app.formats.neutral import (
    DataPart,
    FilePart,
    Neutral,
    Part,
    ReasoningPart,
    SourcePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sessions_app.formats.registry import FORMATS, detect
from sessions_app.formats.writing import Loss, Stored
from tests.formats.messages import stored
from tests.formats.packages import ACCEPTS, TAKES, needs_node, ui_messages
from tests.support.suite import is_patient

pytestmark = pytest.mark.once
IMAGE = "data:image/png;base64,iVBORw0="


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


CALLS = [call("call:1/a", "look", '{"at":1}'), call("call_2", "zoom", '{"by":')]
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": IMAGE}}]},
    {
        "role": "assistant",
        "content": "Let me see.",
        "tool_calls": [call("call:1/a", "look", '{"at":1}'), call("call_2", "zoom", '{"by":')],
    },
    {"role": "tool", "tool_call_id": "call:1/a", "content": "a cat"},
    {"role": "tool", "tool_call_id": "call_2", "content": "no"},
    {"role": "user", "content": "And?"},
    {"role": "assistant", "content": "A cat."},
]
# A call without a result, a late result, and one of a call that nobody made.
BROKEN = [*CHAT[:3], CHAT[5], CHAT[3], CHAT[6], {"role": "tool", "tool_call_id": "gone", "content": "lost"}]


def as_format(items: list[Any], target: str, *, repair: bool = False) -> Converted:
    return convert(stored("openai.chat", *items), target, repair=repair)


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("repair", [False, True])
def test_a_whole_conversation_loses_nothing_but_what_is_named(target: str, repair: bool) -> None:
    made = as_format(CHAT, target, repair=repair)
    if target in ACCEPTS:
        ACCEPTS[target](made.items)
    assert {loss.id for loss in made.losses} <= {"m1", "m3"}
    texts = "".join(FORMATS[target].read(item).text for item in made.items)
    assert texts == "Be brief.What is it?Let me see.And?A cat."
    assert set().union(*made.ids) == {f"m{number}" for number in range(1, 8)}
    named = {detect(item) for item in made.items if not isinstance(item.get("content"), str)}
    assert named == {target}


@needs_node
@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("items", [CHAT, BROKEN], ids=["whole", "broken"])
def test_the_ai_sdk_accepts_a_conversation_of_openai(items: list[Any], repair: bool) -> None:
    made = as_format(items, "ai-sdk", repair=repair)
    assert ui_messages(made.items) == "valid"
    states = [part["state"] for item in made.items for part in item["parts"] if part["type"].startswith("tool-")]
    assert not repair or all(state.startswith("output-") for state in states)


@pytest.mark.parametrize("target", FORMATS)
def test_after_a_repair_no_call_is_open_and_no_result_is_without_a_call(target: str) -> None:
    made = as_format(BROKEN, target, repair=True)
    if target in ACCEPTS:
        ACCEPTS[target](made.items)
    neutrals = [FORMATS[target].read(item) for item in made.items]
    parts = [part for neutral in neutrals for part in neutral.parts]
    calls = [part.id for part in parts if isinstance(part, ToolCallPart)]
    results = [part for part in parts if isinstance(part, ToolResultPart)]
    assert sorted(calls) == sorted(result.id for result in results)
    assert sorted(str(result.output) for result in results) == ["a cat", "interrupted"]
    assert Loss("m7", 0, "There is no open tool call that this result belongs to.") in made.losses
    assert [loss for loss in made.losses if loss.id == "m3" and "error" in loss.reason] == []


def test_what_is_in_the_format_already_comes_back_as_it_is() -> None:
    messages = stored("openai.chat", *CHAT)
    made = convert(messages, "openai.chat", repair=True)
    assert all(item is message.raw for item, message in zip(made.items, messages, strict=True))
    assert made.ids == [[message.id] for message in messages]
    assert made.losses == []


def test_a_repair_of_the_own_format_keeps_what_it_need_not_touch() -> None:
    made = as_format(BROKEN, "openai.chat", repair=True)
    roles = [item["role"] for item in made.items]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user", "assistant"]
    # Also an id that would be too long or strange elsewhere stays what the stored call has.
    assert [item["tool_call_id"] for item in made.items[3:5]] == ["call:1/a", "call_2"]
    assert made.ids[3:5] == [["m5"], ["m3"]]
    assert made.items[2] is BROKEN[2]


def test_nothing_that_is_stored_is_changed() -> None:
    messages = stored("openai.chat", *BROKEN)
    before = json.dumps([message.raw for message in messages]), repr([message.neutral for message in messages])
    for target in FORMATS:
        convert(messages, target, repair=True)
    assert (json.dumps([message.raw for message in messages]), repr([message.neutral for message in messages])) == before


def test_results_and_the_text_after_them_are_one_message_of_anthropic() -> None:
    made = as_format(CHAT, "anthropic")
    assert [item["role"] for item in made.items] == ["system", "user", "assistant", "user", "assistant"]
    assert made.ids[3] == ["m4", "m5", "m6"]
    kinds = [block["type"] for block in made.items[3]["content"]]
    assert kinds == ["tool_result", "tool_result", "text"]


def test_ids_that_anthropic_refuses_are_mapped_in_the_same_way_every_time() -> None:
    first, second = (as_format(CHAT, "anthropic").items for _ in range(2))
    called = [block["id"] for block in first[2]["content"] if block["type"] == "tool_use"]
    assert first == second
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", each) for each in called)
    assert called[1] == "call_2"
    assert called == [block["tool_use_id"] for block in first[3]["content"] if block["type"] == "tool_result"]


def test_calls_of_one_answer_that_are_items_of_their_own_become_one_message() -> None:
    items = [
        {"role": "user", "content": "go"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "two tools"}], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
    ]
    for target in ("openai.chat", "anthropic", "langchain", "pydantic-ai", "gemini"):
        for repair in (False, True):
            made = convert(stored("openai.responses", *items), target, repair=repair)
            ACCEPTS[target](made.items)
            answers = [ids for ids in made.ids if "m3" in ids]
            assert len(answers) == 1
            assert {"m3", "m4"} <= set(answers[0])


def test_calls_without_ids_are_paired_by_the_names_of_their_tools() -> None:
    def part(kind: str, name: str, **more: Any) -> dict[str, Any]:
        return {kind: {"name": name, **more}}

    items = [
        {"role": "model", "parts": [part("functionCall", "f", args={"a": 1}), part("functionCall", "g", args={})]},
        {
            "role": "user",
            "parts": [
                part("functionResponse", "g", response={"output": 2}),
                part("functionResponse", "f", response={"error": "no"}),
            ],
        },
    ]
    first, second = (convert(stored("gemini", *items), "openai.chat", repair=True).items for _ in range(2))
    ACCEPTS["openai.chat"](first)
    assert first == second
    assert [item["content"] for item in first[1:]] == ["2", "no"]
    assert [item["tool_call_id"] for item in first[1:]] == [each["id"] for each in reversed(first[0]["tool_calls"])]


def test_ids_that_come_together_by_a_repair_become_different() -> None:
    def answer(*ids: str) -> dict[str, Any]:
        return {"role": "assistant", "content": None, "tool_calls": [call(each, "f", "{}") for each in ids]}

    done, user = {"role": "assistant", "content": "done"}, {"role": "user", "content": "go on"}
    late = {"role": "tool", "tool_call_id": "call_1", "content": "late"}
    items = [answer("call_0"), done, answer("call_0", "call_1"), user, late]
    for target in ("openai.chat", "anthropic", "langchain"):
        made = convert(stored("openai.chat", *items), target, repair=True)
        ACCEPTS[target](made.items)
        parts = [part for item in made.items for part in FORMATS[target].read(item).parts]
        ids = [part.id for part in parts if isinstance(part, ToolCallPart)]
        assert len(set(ids)) == 3
        results = [(part.id, part.output) for part in parts if isinstance(part, ToolResultPart)]
        assert sorted(results) == sorted([(ids[0], "interrupted"), (ids[1], "interrupted"), (ids[2], "late")])


@pytest.mark.parametrize("repair", [False, True])
def test_the_same_id_twice_in_one_answer_has_its_results_in_order(repair: bool) -> None:
    called = {"role": "assistant", "content": None, "tool_calls": [call("c", "f", "{}"), call("c", "g", "{}")]}
    results = [{"role": "tool", "tool_call_id": "c", "content": text} for text in ("of f", "of g")]
    items = [called, *results, called, *results]
    made = convert(stored("openai.chat", *items), "anthropic", repair=repair)
    ids = [block["id"] for item in made.items[::2] for block in item["content"]]
    found = [(block["tool_use_id"], block["content"]) for item in made.items[1::2] for block in item["content"]]
    assert len(set(ids)) == 4
    assert found == list(zip(ids, ["of f", "of g"] * 2, strict=True))
    assert convert(stored("openai.chat", *items), "openai.chat", repair=True).items == items


def test_a_signature_stays_with_its_provider() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig=="}
    (message,) = stored("anthropic", {"role": "assistant", "content": [thinking, {"type": "text", "text": "yes"}]})
    for target in ("ai-sdk", "pydantic-ai", "langchain"):
        made = convert([message], target)
        (back,) = convert(stored(target, *made.items), "anthropic").items
        assert back["content"][0] == thinking
    for target in ("openai.chat", "openai.responses", "gemini"):
        made = convert([message], target)
        assert Loss("m1", 0, "The signature of reasoning is accepted by its own provider only.") in made.losses


def test_several_steps_of_one_ui_message_become_answers_and_results_in_turn() -> None:
    def tool(call_id: str) -> dict[str, Any]:
        return {"type": "tool-f", "toolCallId": call_id, "state": "output-available", "input": {}, "output": call_id}

    step = {"type": "step-start"}
    parts = [step, {"type": "text", "text": "one"}, tool("a"), tool("b"), step, tool("c"), step, {"type": "text", "text": "done"}]
    made = convert(stored("ai-sdk", {"id": "u", "role": "assistant", "parts": parts}), "openai.chat")
    ACCEPTS["openai.chat"](made.items)
    assert [item["role"] for item in made.items] == ["assistant", "tool", "tool", "assistant", "tool", "assistant"]
    assert made.ids == [["u"]] * 6


TEXT = st.text(max_size=6)
INPUT = st.dictionaries(TEXT, st.integers(), max_size=2) | TEXT
ID = st.sampled_from(["a", "b", "c:/", "d" * 70, ""])
SIGNATURES = [None, {"anthropic": {"signature": "s"}}, {"google": {"thoughtSignature": "eA=="}}, {"openai": {"itemId": "rs_1"}}]
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, TEXT),
    st.builds(
        ReasoningPart,
        TEXT,
        st.none() | st.just({"anthropic": {"signature": "s"}}) | st.just({"google": {"thoughtSignature": "eA=="}}),
    ),
    st.builds(ToolCallPart, ID, st.sampled_from(["f", "g"]), INPUT),
    st.builds(ToolResultPart, ID, INPUT, st.booleans(), st.none() | st.sampled_from(["f", "g"])),
    st.builds(
        FilePart, st.sampled_from(["image/png", "application/pdf", "text/plain", "audio/wav", "image/*"]), data=st.just("eA==")
    ),
    st.builds(FilePart, st.sampled_from(["image/png", "application/pdf"]), url=st.just("https://example.com/a")),
    st.builds(FilePart, st.just("image/png"), file=st.just("sha256:00")),
    st.builds(SourcePart, st.just("https://example.com"), st.none() | TEXT),
    st.builds(DataPart, st.sampled_from(["weather", "system-prompt"]), TEXT),
    st.just(DataPart("ai-sdk:step-start", {"type": "step-start"})),
)
NEUTRALS = st.builds(Neutral, st.sampled_from(["user", "assistant", "system", "tool"]), st.lists(PARTS, max_size=5))


# The packages' types are built at the first example.
@pytest.mark.timeout(300)
@pytest.mark.parametrize("target", TAKES)
@settings(max_examples=30 if is_patient() else 10, suppress_health_check=list(HealthCheck))
@given(neutrals=st.lists(NEUTRALS, max_size=6))
def test_any_messages_once_repaired_are_accepted(target: str, neutrals: list[Neutral]) -> None:
    messages = [Stored(f"m{number}", each.role, None, None, each) for number, each in enumerate(neutrals)]
    TAKES[target](convert(messages, target).items)
    ACCEPTS[target](convert(messages, target, repair=True).items)


@needs_node
@settings(max_examples=15 if is_patient() else 4, suppress_health_check=list(HealthCheck))
@given(neutrals=st.lists(NEUTRALS, min_size=1, max_size=12))
def test_the_ai_sdk_accepts_any_messages(neutrals: list[Neutral]) -> None:
    messages = [Stored(f"m{number}", each.role, None, None, each) for number, each in enumerate(neutrals)]
    for repair in (False, True):
        items = convert(messages, "ai-sdk", repair=repair).items
        assert not items or ui_messages(items) == "valid"


def test_a_conversion_is_linear_in_calls_without_ids() -> None:
    def seconds(count: int) -> float:
        calls = [ToolCallPart("", f"tool{number % 7}", {}) for number in range(count)]
        results = [ToolResultPart("", "done", name=f"tool{number % 7}") for number in reversed(range(count))]
        stored = [Stored("a", "assistant", None, None, Neutral("assistant", [*calls]))]
        stored.append(Stored("b", "tool", None, None, Neutral("tool", [*results])))
        # A collection would go through what all tests before have left.
        gc.disable()
        began = time.process_time()
        made = convert(stored, "anthropic", repair=True)
        took = time.process_time() - began
        gc.enable()
        assert made.items
        return took

    seconds(100)
    assert seconds(20_000) < 60 * max(seconds(1_000), 0.01)
