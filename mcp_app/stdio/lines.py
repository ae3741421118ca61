"""Lines of standard input for an event loop, which can stop reading at any time."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator


class Lines:
    """Reads in a thread: a read that waits cannot be cancelled, and must not keep the process alive."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        # Not `sys.stdin`: the interpreter would wait for its lock at the end.
        threading.Thread(target=self._read, name="standard input", daemon=True).start()

    def end(self) -> None:
        """As if the input ended here."""
        self._queue.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._queue.get()) is not None:
            yield line.decode(errors="replace")

    def _read(self) -> None:
        with os.fdopen(os.dup(self._descriptor), "rb") as file:
            try:
                for line in file:
                    self._loop.call_soon_threadsafe(self._queue.put_nowait, line)
                self._loop.call_soon_threadsafe(self.end)
            except RuntimeError:
                pass  # The loop has ended.
