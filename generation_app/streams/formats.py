"""A stream as Server-Sent Events: its chunks as they are, as the AI SDK's UI message stream, or as OpenAI's completion chunks.

A chunk is a text (the next piece of the answer), or a JSON object: `{"type": "reasoning", "text"}`, `{"type": "tool_call", "id",
"name", "input"}`, a chunk of the AI SDK's stream, or one of OpenAI's (`choices`). What a format cannot express is left out of it.
"""

import re
import time
from collections.abc import Iterator
from typing import Any, Protocol

import orjson

from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import written_json

COMPLETE = "complete"
DONE = b"data: [DONE]\n\n"
INTERRUPTED = "The answer was interrupted."
# Kinds of the AI SDK's chunks. Its client ends the turn with an error at any other.
UI_CHUNKS = re.compile(
    "start|finish|abort|error|message-metadata|start-step|finish-step|(?:text|reasoning)-(?:start|delta|end)|reasoning-file|file|"
    "source-url|source-document|tool-input-(?:start|delta|available|error)|tool-output-(?:available|error|denied)|"
    "tool-approval-request|data-.+"
)


class Format(Protocol):
    """Writes one reader's stream."""

    def chunk(self, number: int, text: str) -> bytes:
        """One chunk, from its JSON text."""

    def end(self, state: str) -> bytes: ...


class Plain:
    """`id`: the chunk's number behind `name`; `data`: the chunk. At the end an event `end` with the state."""

    def __init__(self, name: str) -> None:
        self._name = name

    def chunk(self, number: int, text: str) -> bytes:
        return f"id: {self._name}{number}\ndata: {text}\n\n".encode()

    def end(self, state: str) -> bytes:
        return b"event: end\ndata: " + orjson.dumps({"state": state}) + b"\n\n"


class AiSdk:
    """The UI message stream of the AI SDK (version 1 of its protocol)."""

    def __init__(self, message_id: str) -> None:
        self._message_id = message_id
        self._began = self._finished = False
        self._block, self._blocks = "", 0

    def chunk(self, number: int, text: str) -> bytes:
        return b"".join(_event(event) for event in self._events(_value(text)))

    def end(self, state: str) -> bytes:
        last = {"type": "finish", "finishReason": "stop"} if state == COMPLETE else {"type": "error", "errorText": INTERRUPTED}
        events = [*self._begin(), *self._close(), *([] if self._finished else [last])]
        return b"".join(map(_event, events)) + DONE

    def _events(self, chunk: Any) -> Iterator[dict[str, Any]]:
        kind = chunk.get("type") if isinstance(chunk, dict) else None
        if isinstance(kind, str) and UI_CHUNKS.fullmatch(kind):
            if kind != "start":
                yield from self._begin()
            yield from self._close()
            self._began, self._finished = True, self._finished or kind in {"finish", "abort", "error"}
            yield chunk
            return
        yield from self._begin()
        for name, value in _pieces(chunk):
            if name == "tool_call":
                yield from self._close()
                named = {"toolCallId": value["id"], "toolName": value["name"], "input": value["input"]}
                yield {"type": "tool-input-available", **named}
            else:
                yield from self._open(name)
                yield {"type": f"{name}-delta", "id": self._id, "delta": value}

    @property
    def _id(self) -> str:
        return f"{self._block}-{self._blocks}"

    def _begin(self) -> Iterator[dict[str, Any]]:
        if not self._began:
            self._began = True
            yield {"type": "start", "messageId": self._message_id}

    def _open(self, block: str) -> Iterator[dict[str, Any]]:
        if self._block != block:
            yield from self._close()
            self._block, self._blocks = block, self._blocks + 1
            yield {"type": f"{block}-start", "id": self._id}

    def _close(self) -> Iterator[dict[str, Any]]:
        if self._block:
            yield {"type": f"{self._block}-end", "id": self._id}
            self._block = ""


class OpenAi:
    """Chat completion chunks, as `"stream": true` returns them."""

    def __init__(self, stream_id: str) -> None:
        self._shape = {"id": f"chatcmpl-{stream_id}", "object": "chat.completion.chunk", "created": int(time.time()), "model": ""}
        self._began, self._calls = False, 0

    def chunk(self, number: int, text: str) -> bytes:
        deltas = [self._delta(name, value) for name, value in _pieces(_value(text))]
        return b"".join(_event(self._completion(delta, None)) for delta in deltas)

    def end(self, state: str) -> bytes:
        if state != COMPLETE:
            return _event({"error": {"message": INTERRUPTED, "type": "interrupted"}})
        return _event(self._completion({}, "tool_calls" if self._calls else "stop")) + DONE

    def _delta(self, name: str, value: Any) -> dict[str, Any]:
        if name == "text":
            return {"content": value}
        if name == "reasoning":
            return {"reasoning_content": value}
        function = {"name": value["name"], "arguments": json_text(value["input"])}
        self._calls += 1
        return {"tool_calls": [{"index": self._calls - 1, "id": value["id"], "type": "function", "function": function}]}

    def _completion(self, delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
        role = {} if self._began else {"role": "assistant"}
        self._began = True
        return {**self._shape, "choices": [{"index": 0, "delta": {**role, **delta}, "finish_reason": reason}]}


def _value(text: str) -> Any:
    """Of a chunk's JSON text. Most chunks are texts; in the others numbers stay as they were written."""
    return orjson.loads(text) if text.startswith('"') else written_json(text)


def _pieces(chunk: Any) -> Iterator[tuple[str, Any]]:
    """`("text" | "reasoning", text)` and `("tool_call", {id, name, input})` of a chunk, whatever it was written as."""
    match chunk:
        case str(text) | {"type": "text-delta", "delta": str(text)}:
            yield "text", text
        case {"type": "reasoning", "text": str(text)} | {"type": "reasoning-delta", "delta": str(text)}:
            yield "reasoning", text
        case {"type": "tool_call", "id": str(call), "name": str(name), **rest}:
            yield "tool_call", {"id": call, "name": name, "input": rest.get("input")}
        case {"type": "tool-input-available", "toolCallId": str(call), "toolName": str(name), **rest}:
            yield "tool_call", {"id": call, "name": name, "input": rest.get("input")}
        case {"choices": [{"delta": dict(delta)}, *_]}:
            for kind, field in (("reasoning", "reasoning_content"), ("text", "content")):
                said = delta.get(field)
                if isinstance(said, str) and said:
                    yield kind, said


def _event(content: dict[str, Any]) -> bytes:
    return f"data: {json_text(content)}\n\n".encode()
