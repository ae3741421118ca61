"""The built-in stand-in as an OpenAI-compatible endpoint: the same requests, the same stream, but no network."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
from django.conf import settings

from generation_app.generations.instructions import step_of
from generation_app.generations.model.stand_in_rules import Turn, pieces_of, reply


class StandIn(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        messages = orjson.loads(request.content)["messages"]
        turns = [Turn(message["role"], _text_of(message)) for message in messages if message["role"] in {"user", "assistant"}]
        step = step_of(next((_text_of(message) for message in messages if message["role"] == "system"), ""))
        said = reply(turns=turns, opening_step=step)
        return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=_Words(said))


class _Words(httpx.AsyncByteStream):
    """Word by word, at reading speed."""

    def __init__(self, said: str) -> None:
        self._said = said

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in pieces_of(self._said):
            yield _chunk({"content": piece}, None)
            await asyncio.sleep(settings.CHAT_WORD_MS / 1000)
        yield _chunk({}, "stop") + b"data: [DONE]\n\n"


def _chunk(delta: dict[str, str], reason: str | None) -> bytes:
    return b"data: " + orjson.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}) + b"\n\n"


def _text_of(message: dict[str, Any]) -> str:
    match message.get("content"):
        case str(text):
            return text
        case [*parts]:
            return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
    return ""
