"""How many long responses (exports) may run at once: in total, and for one user.

Each occupies a thread of this process until its client has read it.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from django.conf import settings

from sessions_app.core.errors import TooMany, Unavailable

_lock = threading.Lock()
_taken: Counter[int] = Counter()


class TooManyStreams(TooMany):
    code = "too_many_streams"

    def __init__(self, share: int) -> None:
        message = f"{share} of your exports are already running. Wait until one has ended."
        super().__init__(message, details={"limit": share}, retry_after=2)


class StreamsBusy(Unavailable):
    code, message = "busy", "This server is running as many exports as it allows. Try again shortly."


def share() -> int:
    """Half of all slots, so that no user blocks the others."""
    return max(1, settings.CHAT_STREAMS // 2)


class StreamSlot:
    """One slot, held from the `with` until the stream made from it is closed; without a stream, until the block ends."""

    def __init__(self, *, user_id: int) -> None:
        self._user_id = user_id
        self._held = self._lasts = False

    def __enter__(self) -> Self:
        with _lock:
            if _taken.total() >= settings.CHAT_STREAMS:
                raise StreamsBusy(retry_after=2)
            if _taken[self._user_id] >= share():
                raise TooManyStreams(share())
            _taken[self._user_id] += 1
            self._held = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None or not self._lasts:
            self.release()

    def stream(self, chunks: Iterator[bytes]) -> "SlottedStream":
        """Returns the same chunks. The sender closes the stream, as Django does with a response's content."""
        self._lasts = True
        return SlottedStream(chunks, self)

    def release(self) -> None:
        with _lock:
            if not self._held:
                return
            self._held = False
            if _taken[self._user_id] > 1:
                _taken[self._user_id] -= 1
            else:
                _taken.pop(self._user_id, None)


class SlottedStream(Iterator[bytes]):
    def __init__(self, chunks: Iterator[bytes], place: StreamSlot) -> None:
        self._chunks, self._place = chunks, place

    def __next__(self) -> bytes:
        return next(self._chunks)

    def __del__(self) -> None:
        self._place.release()

    def close(self) -> None:
        try:
            if callable(close := getattr(self._chunks, "close", None)):
                close()
        finally:
            self._place.release()
