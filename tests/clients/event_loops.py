"""Event loops of programs that leave theirs open."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def own_event_loop() -> Iterator[None]:
    """For `Runner.run_sync` of OpenAI's agents: without a loop it makes one, which it leaves open for the next run. The collector
    would find that one in any later test."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        loop.close()
        asyncio.set_event_loop(None)
