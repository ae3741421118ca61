"""Asks an OpenAI-compatible endpoint and reads its streamed answer.

A question is asked again only if it cannot have been answered: the connection was not made, or the endpoint said that it is
busy. If it refuses images, it is asked once more without them. After the first byte of an answer nothing is repeated.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx
import orjson
from django.conf import settings

from generation_app.generations.model.attachments import without_images
from generation_app.generations.model.pieces import EndpointFailed, Piece
from generation_app.generations.model.stand_in import StandIn
from generation_app.generations.model.tool_calls import ToolCalls
from sessions_app.core.serialization.strict_json import UnreadableJson, clean_text, loads

ATTEMPTS = 3
PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 10.0
TIMEOUT = httpx.Timeout(60, connect=10)
# What endpoints say of images that their model does not read.
UNREADABLE = frozenset({400, 404, 415, 422})
BUSY = frozenset({429, 502, 503, 504})
STAND_IN_URL = "http://stand-in.invalid"
# Of one line of an answer: an endpoint that ends none would fill the memory.
LINE_BYTES = 4_000_000


class Endpoint:
    """The configured endpoint, or the built-in stand-in. For one event loop."""

    def __init__(self) -> None:
        transport = None if settings.CHAT_URL else StandIn()
        self._client = httpx.AsyncClient(timeout=TIMEOUT, follow_redirects=False, transport=transport)

    async def close(self) -> None:
        await self._client.aclose()

    async def ask(self, *, model: str, messages: list[Any]) -> AsyncGenerator[Piece]:
        """Yields the answer piece by piece. Raises EndpointFailed, also after some pieces."""
        body = orjson.dumps({"model": model or settings.CHAT_MODEL, "messages": messages, "stream": True})
        for attempt in range(1, ATTEMPTS + 1):
            try:
                request = self._client.build_request("POST", self._url(), content=body, headers=_headers())
                response = await self._client.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if attempt == ATTEMPTS:
                    raise EndpointFailed("The endpoint cannot be reached.") from error
                await asyncio.sleep(PAUSE_SECONDS * attempt)
                continue
            except httpx.HTTPError as error:
                raise EndpointFailed(f"The endpoint did not answer ({type(error).__name__}).") from error
            try:
                refused = response.status_code in UNREADABLE and attempt < ATTEMPTS
                if refused and (plain := without_images(body)) is not None:
                    body = plain
                    continue
                if response.status_code not in BUSY or attempt == ATTEMPTS:
                    async with aclosing(_pieces(response)) as pieces:
                        async for piece in pieces:
                            yield piece
                    return
            finally:
                await response.aclose()
            await asyncio.sleep(_pause(response, attempt))

    def _url(self) -> str:
        return f"{settings.CHAT_URL or STAND_IN_URL}/chat/completions"


def _headers() -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    return headers | ({"Authorization": f"Bearer {settings.CHAT_KEY}"} if settings.CHAT_KEY else {})


def _pause(response: httpx.Response, attempt: int) -> float:
    asked = response.headers.get("Retry-After", "")
    return min(LONGEST_PAUSE_SECONDS, float(asked)) if asked.isascii() and asked.isdigit() else PAUSE_SECONDS * attempt


async def _pieces(response: httpx.Response) -> AsyncGenerator[Piece]:
    if response.status_code != httpx.codes.OK:
        raise EndpointFailed(f"The endpoint answered with HTTP {response.status_code}.")
    calls = ToolCalls()
    finished = False
    try:
        async for line in _lines(response):
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                finished = True
                break
            choice = _choice(data)
            delta = choice.get("delta")
            delta = delta if isinstance(delta, dict) else {}
            for kind, field in (("reasoning", "reasoning_content"), ("reasoning", "reasoning"), ("text", "content")):
                if isinstance(text := delta.get(field), str) and text:
                    yield Piece(kind, clean_text(text))
            calls.add(delta.get("tool_calls"))
            finished = finished or bool(choice.get("finish_reason"))
    except (httpx.HTTPError, ValueError) as error:
        raise EndpointFailed(f"The answer broke off ({type(error).__name__}).") from error
    if not finished:
        raise EndpointFailed("The answer broke off.")
    for call in calls.whole():
        yield Piece("tool_call", call)


async def _lines(response: httpx.Response) -> AsyncGenerator[bytes]:
    """Lines as Server-Sent Events end them. httpx ends one at every separator of Unicode too, and JSON may have U+2028 in a text.
    Raises ValueError for a line that is too long."""
    parts: list[bytes] = []
    size = 0
    async for some in response.aiter_bytes():
        *ended, rest = some.replace(b"\r", b"\n").split(b"\n")
        for part in ended:
            yield b"".join([*parts, part])
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
        if size > LINE_BYTES:
            raise ValueError("a line is too long")
    yield b"".join(parts)


def _choice(data: bytes) -> dict[str, Any]:
    """The first choice of a chunk; empty for others. Raises ValueError for what is no chunk, and for an error."""
    match _parsed(data.decode(errors="replace")):
        case {"choices": [dict(choice), *_]}:
            return choice
        case {"error": _}:
            raise ValueError("the endpoint sent an error")
        case dict():
            return {}
    raise ValueError("not a chunk")


def _parsed(data: str) -> Any:
    """Also with half a character, which some endpoints send where a token ends within one. Raises ValueError."""
    try:
        return orjson.loads(data)
    except ValueError:
        pass
    try:
        return loads(data.encode())[0]
    except UnreadableJson as error:
        raise ValueError(error.why) from error
