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
from sessions_app.core.serialization.strict_json import clean_text

NO_JSON = "This line is no JSON."

# Or a whole one, or what is no escape: then nothing is replaced.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


class SoundLines:
    """`send`: how refusals are answered; the library makes it after it has got the lines."""

    def __init__(self, lines: AsyncIterable[str]) -> None:
        self._lines = lines
        self.send: asyncio.Future[Callable[[SessionMessage], Awaitable[None]]] = asyncio.get_running_loop().create_future()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for given in self._lines:
            line = whole_characters(given)
            refusal = refusal_of(line)
            if refusal is not None:
                send = await self.send
                await send(SessionMessage(refusal))
            elif line.strip():
                yield line


def whole_characters(line: str) -> str:
    """The line with U+FFFD in place of escaped halves of characters, as texts have that were cut."""
    if not _HALF.search(line):
        return line
    try:
        return clean_text(json.dumps(json.loads(line), ensure_ascii=False))
    except (ValueError, RecursionError):  # It is refused.
        return line


def refusal_of(line: str) -> JSONRPCError | None:
    """None for a message that the library reads, and for an empty line."""
    if not line.strip():
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return _refusal(PARSE_ERROR, NO_JSON)
    if wrong := wrong_message(message):
        return _refusal(INVALID_REQUEST, wrong, message)
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return _refusal(INVALID_REQUEST, NO_MESSAGE, message)
    return None


def _refusal(code: int, text: str, message: Any = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id_of(message), error=ErrorData(code=code, message=text))
