"""Connections belong to the event loop in which they were opened: they are kept for it, and end with it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from typing import NamedTuple, Protocol
from weakref import WeakKeyDictionary

from stillhere.http.forks import renew_in_forks


class Closing(Protocol):
    async def close(self) -> None: ...


class _Open[C](NamedTuple):
    connections: C
    end: AsyncGenerator[None]


class EventLoops[C: Closing]:
    """`make`: the connections of one loop."""

    def __init__(self, make: Callable[[], C]) -> None:
        self._make = make
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, _Open[C]] = WeakKeyDictionary()
        self._of_parents: list[object] = []
        # For what changes the table, and what goes through it: loops of several threads begin and end at any time.
        self._lock = threading.Lock()
        renew_in_forks(self, self._lock)

    def __len__(self) -> int:
        return len(self._open)

    async def connections(self) -> C:
        """Those of the running loop."""
        loop = asyncio.get_running_loop()
        if (found := self._open.get(loop)) is not None:
            return found.connections
        self._forget_closed_loops()
        made = self._make()
        found = _Open(made, self._until_the_loop_ends(made))
        with self._lock:
            self._open[loop] = found
        await anext(found.end)
        return made

    async def close(self) -> None:
        """Closes those of the running loop."""
        if (found := self._open.get(asyncio.get_running_loop())) is not None:
            await found.end.aclose()

    def renew(self) -> None:
        """In a forked process. The parent's are kept as they are: closing them would end its wait for their answers."""
        self._of_parents.append(self._open)
        self._open = WeakKeyDictionary()

    async def _until_the_loop_ends(self, made: C) -> AsyncGenerator[None]:
        """A loop that ends as `asyncio.run` ends it closes each generator first: callers need not close what they opened."""
        try:
            yield
        finally:
            with self._lock:
                self._open.pop(asyncio.get_running_loop(), None)
            await made.close()

    def _forget_closed_loops(self) -> None:
        """Their connections hold them, so that they would never be collected."""
        with self._lock:
            closed = [self._open.pop(loop) for loop in [loop for loop in self._open if loop.is_closed()]]
        del closed  # Not before: what ends with them may want the lock.
