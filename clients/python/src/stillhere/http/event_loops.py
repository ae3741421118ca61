"""Connections belong to the event loop in which they were opened: they are kept for it, and end with it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
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
        renew_in_forks(self)

    def __len__(self) -> int:
        return len(self._open)

    async def connections(self) -> C:
        """Those of the running loop."""
        loop = asyncio.get_running_loop()
        if (found := self._open.get(loop)) is not None:
            return found.connections
        self._forget_closed_loops()
        made = self._make()
        self._open[loop] = found = _Open(made, self._until_the_loop_ends(made))
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
            self._open.pop(asyncio.get_running_loop(), None)
            await made.close()

    def _forget_closed_loops(self) -> None:
        """Their connections hold them, so that they would never be collected."""
        for loop in list(self._open):
            if loop.is_closed():
                with suppress(KeyError):  # Another thread was first.
                    del self._open[loop]
