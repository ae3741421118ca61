"""The frameworks' own packages as judges: each raises, or returns what it made of the messages."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import MessageParam
from google.genai import types as gemini
from langchain_core.messages import messages_from_dict
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessagesTypeAdapter

from tests.formats.typed import conforms

ROOT = Path(__file__).resolve().parents[2]
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None or not (ROOT / "node_modules" / "ai").exists(), reason="Node or the `ai` package is missing."
)


def ui_messages(messages: list[Any]) -> str:
    """`valid`, or what the AI SDK says of the messages."""
    assert NODE is not None
    script = Path(__file__).with_name("validate_ui_messages.mjs")
    made = subprocess.run([NODE, script], input=json.dumps(messages), capture_output=True, text=True, check=True, timeout=60)
    return made.stdout.strip()


def typed(kind: Any) -> Callable[[list[Any]], None]:
    """By the types of a package. Its own validation looks into lists only when they are read."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def check(items: list[Any]) -> None:
        for item in items:
            read_through(adapter.validate_python(item))
            assert conforms(item, kind), item

    return check


def read_through(value: Any) -> None:
    if isinstance(value, dict):
        for each in value.values():
            read_through(each)
    elif isinstance(value, (list, Iterator)) or type(value).__name__ == "ValidatorIterator":
        for each in value:
            read_through(each)


def contents(items: list[Any]) -> None:
    for item in items:
        gemini.Content.model_validate(item)


def accepted_anthropic(items: list[Any]) -> None:
    """Beyond the types: roles alternate, and every call is answered at the start of the message after it."""
    typed(MessageParam)(items)
    for before, item in zip([None, *items], [*items, None], strict=True):
        assert before is None or item is None or before["role"] != item["role"]
        called = [block["id"] for block in blocks(before) if block["type"] == "tool_use"]
        answered = [block["tool_use_id"] for block in blocks(item) if block["type"] == "tool_result"]
        assert sorted(called) == sorted(answered)
        assert [block["type"] for block in blocks(item)][: len(answered)] == ["tool_result"] * len(answered)


def blocks(item: Any) -> list[Any]:
    return item["content"] if item is not None and isinstance(item["content"], list) else []


def accepted_chat(items: list[Any]) -> None:
    """Beyond the types: directly after an answer with calls is one result for each."""
    typed(ChatCompletionMessageParam)(items)
    waiting: set[str] = set()
    for item in items:
        if item["role"] == "tool":
            waiting.remove(item["tool_call_id"])
            continue
        assert not waiting
        waiting = {call["id"] for call in item.get("tool_calls", [])}
    assert not waiting


def accepted_responses(items: list[Any]) -> None:
    typed(ResponseInputItemParam)(items)
    called = [item["call_id"] for item in items if item["type"] == "function_call"]
    answered = [item["call_id"] for item in items if item["type"] == "function_call_output"]
    assert sorted(called) == sorted(answered)


# What each package takes, by the name of the format.
TAKES: dict[str, Callable[[list[Any]], Any]] = {
    "openai.chat": typed(ChatCompletionMessageParam),
    "openai.responses": typed(ResponseInputItemParam),
    "anthropic": typed(MessageParam),
    "langchain": messages_from_dict,
    "pydantic-ai": ModelMessagesTypeAdapter.validate_python,
    "gemini": contents,
}
# The same as the input of a model call, which has rules beyond the types.
ACCEPTS = TAKES | {"openai.chat": accepted_chat, "openai.responses": accepted_responses, "anthropic": accepted_anthropic}
