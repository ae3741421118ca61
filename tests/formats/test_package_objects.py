"""Messages that the packages themselves make: what is written of what was read is equal, as the package compares them."""

import json
import warnings
from typing import Any

import pytest
from google.genai import types as gemini
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from pydantic_ai import messages as pydantic_ai
from pydantic_ai.usage import RequestUsage

from sessions_app.formats.registry import FORMATS, detect
from tests.formats.messages import stored, written
from tests.formats.packages import needs_node, ui_messages

pytestmark = pytest.mark.once
often = settings(max_examples=60, suppress_health_check=list(HealthCheck))
TEXT = st.text(max_size=8)
SOME = st.text(min_size=1, max_size=8)
INPUT = st.dictionaries(SOME, st.integers() | TEXT | st.lists(TEXT, max_size=2), max_size=2)
IDS = st.sampled_from(["a", "b", "toolu_1"])
NAMES = st.sampled_from(["f", "g"])
DATA = st.binary(min_size=1, max_size=6)

IMAGE_BLOCKS = st.sampled_from(
    [{"type": "image", "base64": "AAAA", "mime_type": "image/png"}, {"type": "image", "url": "https://example.com"}]
)
REASONING = st.builds(lambda text: {"type": "reasoning", "reasoning": text}, SOME)
THINKING = st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "s"}, TEXT)
TEXT_BLOCKS = st.builds(lambda text: {"type": "text", "text": text}, TEXT)
CONTENT = TEXT | st.lists(TEXT_BLOCKS | IMAGE_BLOCKS, min_size=2, max_size=4)
CALLS = st.lists(
    st.builds(lambda call_id, args: {"id": call_id, "name": "f", "args": args, "type": "tool_call"}, IDS, INPUT), max_size=2
)
USAGE = st.builds(
    lambda a, b: {"input_tokens": a, "output_tokens": b, "total_tokens": a + b}, st.integers(0, 9), st.integers(0, 9)
)
LANGCHAIN = st.one_of(
    st.builds(HumanMessage, CONTENT),
    st.builds(SystemMessage, TEXT),
    st.builds(
        AIMessage,
        TEXT | st.lists(TEXT_BLOCKS | REASONING | THINKING, min_size=2, max_size=3),
        tool_calls=CALLS,
        usage_metadata=st.none() | USAGE,
        response_metadata=st.just({}) | st.just({"model_name": "m"}),
    ),
    st.builds(ToolMessage, CONTENT, tool_call_id=IDS, name=st.none() | NAMES, status=st.sampled_from(["success", "error"])),
)


@often
@given(message=LANGCHAIN)
def test_messages_of_langchain_come_back(message: BaseMessage) -> None:
    flat = {"type": message.type, **message.model_dump(mode="json")}
    for raw in (message_to_dict(message), dumpd(message), flat):
        raw = json.loads(json.dumps(raw))
        assert detect(raw) == "langchain"
        assert messages_from_dict(written("langchain", raw).items) == [message]


def test_every_kind_of_message_of_pydantic_ai_comes_back() -> None:
    image = pydantic_ai.BinaryContent(b"\xff\xfe>", media_type="image/png")
    for message in (
        pydantic_ai.ModelRequest([pydantic_ai.SystemPromptPart("s"), pydantic_ai.UserPromptPart(["see", image])]),
        pydantic_ai.ModelRequest(
            [pydantic_ai.UserPromptPart([pydantic_ai.ImageUrl("https://example.com/a.png"), pydantic_ai.CachePoint()])]
        ),
        pydantic_ai.ModelRequest(
            [pydantic_ai.ToolReturnPart("f", {"a": [1]}, "c"), pydantic_ai.ToolReturnPart("g", "no", "d", outcome="failed")]
        ),
        pydantic_ai.ModelResponse(
            [
                pydantic_ai.ThinkingPart("hm", id="rs", signature="s", provider_name="openai"),
                pydantic_ai.NativeToolCallPart("web_search", {"q": "x"}, "w"),
                pydantic_ai.NativeToolReturnPart("web_search", {"r": 1}, "w"),
                pydantic_ai.FilePart(image),
                pydantic_ai.ToolCallPart("f", '{"a": 1', "c"),
            ],
            model_name="m",
            usage=RequestUsage(input_tokens=2, output_tokens=1),
        ),
    ):
        same_in_pydantic_ai(message)


def same_in_pydantic_ai(message: Any) -> None:
    adapter = pydantic_ai.ModelMessagesTypeAdapter
    raw = json.loads(adapter.dump_json([message]))[0]
    assert detect(raw) == "pydantic-ai"
    (message,) = adapter.validate_python([raw])
    (back,) = adapter.validate_python(written("pydantic-ai", raw).items)
    assert type(back) is type(message)
    assert [comparable(part) for part in back.parts] == [comparable(part) for part in message.parts]
    for name in ("model_name", "usage"):
        assert getattr(back, name, None) == getattr(message, name, None)


def comparable(part: Any) -> Any:
    """A part without its time, which is set again for a request's parts, and with its arguments as an object."""
    found = {name: value for name, value in vars(part).items() if name != "timestamp"}
    if isinstance(part, pydantic_ai.ToolCallPart) and part.args != '{"a": 1':
        found["args"] = part.args_as_dict()
    return type(part), found


USER_CONTENT = TEXT | st.lists(
    TEXT
    | st.builds(pydantic_ai.BinaryContent, DATA, media_type=st.just("image/png"))
    | st.just(pydantic_ai.ImageUrl("https://example.com/a.png")),
    min_size=2,
    max_size=4,
)
REQUESTS = st.builds(
    pydantic_ai.ModelRequest,
    st.lists(st.builds(pydantic_ai.SystemPromptPart, TEXT), max_size=1).flatmap(
        lambda first: st.builds(pydantic_ai.UserPromptPart, USER_CONTENT).map(lambda prompt: [*first, prompt])
    )
    | st.lists(st.builds(pydantic_ai.ToolReturnPart, NAMES, INPUT | TEXT, IDS), min_size=1, max_size=3),
)
ANSWERS = st.builds(
    pydantic_ai.ModelResponse,
    st.lists(
        st.builds(pydantic_ai.TextPart, TEXT)
        | st.builds(
            pydantic_ai.ThinkingPart,
            TEXT,
            signature=SOME,
            provider_name=st.sampled_from(["anthropic", "openai", "google", "other"]),
        )
        | st.builds(pydantic_ai.ToolCallPart, NAMES, INPUT | INPUT.map(json.dumps), IDS),
        max_size=4,
    ),
)


@often
@given(message=REQUESTS | ANSWERS)
def test_messages_of_pydantic_ai_come_back(message: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same_in_pydantic_ai(message)


GEMINI_PARTS = st.one_of(
    st.builds(gemini.Part, text=TEXT),
    st.builds(lambda text, data: gemini.Part(text=text, thought=True, thought_signature=data), SOME, DATA),
    st.builds(
        lambda args, data: gemini.Part(function_call=gemini.FunctionCall(name="f", args=args), thought_signature=data),
        INPUT,
        DATA,
    ),
    st.builds(lambda data: gemini.Part(inline_data=gemini.Blob(data=data, mime_type="image/png")), DATA),
    st.just(gemini.Part(file_data=gemini.FileData(file_uri="https://example.com/a", mime_type="text/plain"))),
    st.just(gemini.Part(executable_code=gemini.ExecutableCode(code="1", language=gemini.Language.PYTHON))),
)


@often
@given(parts=st.lists(GEMINI_PARTS, min_size=1, max_size=4), by_alias=st.booleans())
def test_contents_of_gemini_come_back(parts: list[gemini.Part], by_alias: bool) -> None:
    content = gemini.Content(role="model", parts=parts)
    raw = json.loads(content.model_dump_json(exclude_none=True, by_alias=by_alias))
    assert detect(raw) == "gemini"
    made = written("gemini", raw)
    assert [gemini.Content.model_validate(item) for item in made.items] == [content]
    assert made.losses == []


@often
@given(
    response=INPUT
    | st.builds(lambda value: {"output": value}, TEXT | INPUT)
    | st.builds(lambda value: {"error": value}, TEXT | INPUT)
)
def test_function_responses_of_gemini_come_back(response: dict[str, Any]) -> None:
    raw = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": response}}]}
    assert written("gemini", raw).items == [raw]


def tool(state: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool-f", "toolCallId": f"c-{state}", "state": state, "input": {"a": [1, None]}, **more}


UI_PARTS: list[dict[str, Any]] = [
    {"type": "step-start"},
    {"type": "text", "text": "hi"},
    {"type": "reasoning", "text": "hm", "providerMetadata": {"anthropic": {"signature": "s"}}},
    {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA", "filename": "a.png"},
    {"type": "file", "mediaType": "image/png", "url": "https://example.com/a.png"},
    {"type": "source-document", "sourceId": "s", "mediaType": "text/plain", "title": "T"},
    {"type": "data-weather", "data": {"c": 3}},
    tool("input-available"),
    tool("output-available", output={"isError": True}),
    tool("output-error", errorText="no"),
]


@often
@given(parts=st.lists(st.sampled_from(UI_PARTS), min_size=1, max_size=6, unique_by=json.dumps))
def test_ui_messages_come_back(parts: list[dict[str, Any]]) -> None:
    raw = {"id": "u", "role": "assistant", "parts": parts}
    assert detect(raw) == "ai-sdk"
    made = written("ai-sdk", raw)
    assert made.items == [raw]
    assert made.losses == []


@needs_node
def test_the_ai_sdk_takes_these_parts() -> None:
    assert ui_messages([{"id": "u", "role": "assistant", "parts": UI_PARTS}]) == "valid"


def test_what_a_source_loses_is_only_its_id() -> None:
    source = {"type": "source-url", "sourceId": "s", "url": "https://example.com", "title": "E"}
    (back,) = written("ai-sdk", {"id": "u", "role": "assistant", "parts": [source]}).items
    assert back["parts"] == [source | {"sourceId": "u-0"}]


def test_a_message_of_many_parts_is_read_whole_and_not_copied() -> None:
    raw = {"role": "user", "content": [{"type": "text", "text": "x" * 50}] * 20_000}
    assert len(FORMATS["openai.chat"].read(raw).parts) == 20_000
    assert stored("openai.chat", raw)[0].raw is raw
