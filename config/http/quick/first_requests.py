"""The first requests of a kind after a start, which only Django can answer.

All clients come at once after a restart. The first request of a kind asks Django, and its like wait for what is learned from
the answer, instead of all threads asking Django the same.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

from config.http.learned_headers import Answered, Kinds, QuickRequest

# The first one may itself wait, for a lock for example: its like then ask Django, too.
PATIENCE_SECONDS = 0.25


class FirstRequests:
    """To be used in one event loop."""

    def __init__(self) -> None:
        # By operation and kind.
        self._asking: dict[tuple[Kinds, Any], asyncio.Event] = {}

    async def learned(self, kinds: Kinds | None, request: QuickRequest) -> bool:
        """Whether the request's kind became known by another request, whose answer this waits for."""
        if kinds is None or (first := self._asking.get((kinds, kinds.unknown(request)))) is None:
            return False
        with suppress(TimeoutError):
            await asyncio.wait_for(first.wait(), PATIENCE_SECONDS)
        return kinds.unknown(request) is None

    async def learn(self, kinds: Kinds | None, request: QuickRequest, asked: Awaitable[Answered]) -> Answered:
        """Django's answer, from which its kind is learned if there is one."""
        if kinds is None:
            return await asked
        name, first = kinds.unknown(request), asyncio.Event()
        leads = name is not None and self._asking.setdefault((kinds, name), first) is first
        try:
            answered = await asked
            kinds.learn(request, answered)
            return answered
        finally:
            if leads:
                del self._asking[kinds, name]
                first.set()
