"""Lines of standard input that the protocol's library can read. It answers no others, and their client would wait for ever."""

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from mcp_app.protocol.messages import INVALID_REQUEST, PARSE_ERROR, is_id, wrong_message

NO_JSON = "This line is no JSON."
NO_MESSAGE = 'This is no message of JSON-RPC 2.0: it needs `"jsonrpc": "2.0"`, `method` as a text, and `params` as an object.'


class SoundLines:
    """`send`: how refusals are answered; the library makes it after it has got the lines."""

    def __init__(self, lines: AsyncIterable[str]) -> None:
        self._lines = lines
        self.send: asyncio.Future[Callable[[SessionMessage], Awaitable[None]]] = asyncio.get_running_loop().create_future()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            refusal = refusal_of(line)
            if refusal is not None:
                send = await self.send
                await send(SessionMessage(refusal))
            elif line.strip():
                yield line


def refusal_of(line: str) -> JSONRPCError | None:
    """None for a message that the library reads, and for an empty line."""
    if not line.strip():
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return _refusal(PARSE_ERROR, NO_JSON)
    if wrong := wrong_message(message):
        return _refusal(INVALID_REQUEST, wrong)
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return _refusal(INVALID_REQUEST, NO_MESSAGE, message)
    return None


def _refusal(code: int, text: str, message: Any = None) -> JSONRPCError:
    given = message.get("id") if isinstance(message, dict) else None
    return JSONRPCError(jsonrpc="2.0", id=given if is_id(given) else None, error=ErrorData(code=code, message=text))
