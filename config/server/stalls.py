"""Ends connections whose clients take nothing of what waits for them.

uvicorn ends a connection by `close`, which first waits until everything written was taken. A client that takes nothing would keep
its connection, and what waits for it, for ever: also after its request was given up, its keep-alive time has passed or its key
was revoked.
"""

import asyncio
from typing import Any

# Within two of these.
STALLED_SECONDS = 60.0


class EndsStalled(asyncio.Protocol):
    """In front of a protocol of uvicorn's."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    _look: asyncio.TimerHandle | None = None
    _is_full = False
    # The bytes that waited at the last look, if none could be added since.
    _waited: int | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._look = self.loop.call_later(STALLED_SECONDS, self._look_after)

    def connection_lost(self, exc: Exception | None) -> None:
        self.stop_looking()
        super().connection_lost(exc)

    def stop_looking(self) -> None:
        """The connection has ended, or belongs to another protocol."""
        if self._look is not None:
            self._look.cancel()
            self._look = None

    def pause_writing(self) -> None:
        self._is_full = True
        super().pause_writing()

    def resume_writing(self) -> None:
        self._is_full, self._waited = False, None
        super().resume_writing()

    def _look_after(self) -> None:
        waits = self.transport.get_write_buffer_size()
        if self._waited is not None and waits >= self._waited:
            self.transport.abort()
            return
        # Nothing is written while it is full, nor after its end.
        self._waited = waits if waits and (self._is_full or self.transport.is_closing()) else None
        self._look = self.loop.call_later(STALLED_SECONDS, self._look_after)
