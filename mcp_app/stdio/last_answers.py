"""What was asked before the input ended gets its answer: the library ends a connection with its input, and answers what runs
then with an error, though it is done."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from mcp.shared.message import SessionMessage

# What is under way when the input ends.
LAST_ANSWERS_SECONDS = 10.0


class OpenRequests:
    """Those without an answer so far."""

    def __init__(self) -> None:
        self._ids: set[str | int] = set()
        self._answered = asyncio.Event()

    def asked(self, message: Mapping[str, Any]) -> None:
        if message.get("method") == "notifications/cancelled":  # Nobody waits for its answer.
            params = message.get("params")
            self._end(params.get("requestId") if isinstance(params, dict) else None)
        elif "method" in message and "id" in message:
            self._ids.add(message["id"])

    def answered(self, message: Any) -> None:
        self._end(getattr(message, "id", None))

    def _end(self, request: Any) -> None:
        if isinstance(request, str | int):
            self._ids.discard(request)
            self._answered.set()

    async def wait(self) -> None:
        """Until all are answered, or for ten seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_ANSWERS_SECONDS):
                while self._ids:
                    self._answered.clear()
                    await self._answered.wait()


class Answers:
    """The library's stream of what is written, which says what was answered."""

    def __init__(self, stream: Any, requests: OpenRequests) -> None:
        self._stream, self._requests = stream, requests

    async def send(self, item: SessionMessage, /) -> None:
        await self._stream.send(item)
        self._requests.answered(item.message)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        ended: bool | None = await self._stream.__aexit__(kind, error, trace)
        return ended
