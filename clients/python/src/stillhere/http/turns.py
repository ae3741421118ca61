"""Coroutines of any event loops and threads, one after the other."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator
from concurrent.futures import Future
from contextlib import asynccontextmanager

PATIENCE_SECONDS = 10.0


class Turns:
    """It is no lock: who has waited for long goes on all the same, because the loop whose turn it is may never run again."""

    def __init__(self) -> None:
        # The first has its turn.
        self._waiting = deque[Future[None]]()
        self._lock = threading.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        own = Future[None]()
        with self._lock:
            self._waiting.append(own)
            before = self._waiting[0]
            self._wake()
        try:
            if before is not own:
                try:
                    await asyncio.wait_for(asyncio.wrap_future(own), PATIENCE_SECONDS)
                except TimeoutError:
                    self._leave(before)
            yield
        finally:
            self._leave(own)

    def _leave(self, one: Future[None]) -> None:
        with self._lock:
            if one in self._waiting:
                self._waiting.remove(one)
            self._wake()

    def _wake(self) -> None:
        first = self._waiting[0] if self._waiting else None
        if first is not None and not first.done() and first.set_running_or_notify_cancel():
            first.set_result(None)
