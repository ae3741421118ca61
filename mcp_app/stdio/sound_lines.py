"""Lines of standard input that the protocol's library can read. It answers no others, and their client would wait for ever."""

import asyncio
import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from mcp_app.protocol.messages import INVALID_REQUEST, NO_MESSAGE, PARSE_ERROR, id_of, wrong_message
from mcp_app.stdio.last_answers import OpenRequests
from sessions_app.core.serialization.strict_json import clean_text

NO_JSON = "This line is no JSON."

# Or a whole one, or what is no escape: then nothing is replaced.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


class SoundLines:
    """`send`: how refusals are answered; the library makes it after it has got the lines. They end when `requests` has none."""

    def __init__(self, lines: AsyncIterable[str], requests: OpenRequests) -> None:
        self._lines, self._requests = lines, requests
        self.send: asyncio.Future[Callable[[SessionMessage], Awaitable[None]]] = asyncio.get_running_loop().create_future()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for given in self._lines:
            line = whole_characters(given)
            if not line.strip():
                continue
            message, refusal = _read(line)
            if refusal is not None:
                send = await self.send
                await send(SessionMessage(refusal))
            else:
                self._requests.asked(message)
                yield line
        await self._requests.wait()


def whole_characters(line: str) -> str:
    """The line with U+FFFD in place of escaped halves of characters, as texts have that were cut."""
    if not _HALF.search(line):
        return line
    try:
        return clean_text(json.dumps(json.loads(line), ensure_ascii=False))
    except (ValueError, RecursionError):  # It is refused.
        return line


def _read(line: str) -> tuple[Any, JSONRPCError | None]:
    """The message, and why the library cannot read it."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None, _refusal(PARSE_ERROR, NO_JSON)
    if wrong := wrong_message(message):
        return message, _refusal(INVALID_REQUEST, wrong, message)
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return message, _refusal(INVALID_REQUEST, NO_MESSAGE, message)
    return message, None


def _refusal(code: int, text: str, message: Any = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id_of(message), error=ErrorData(code=code, message=text))
