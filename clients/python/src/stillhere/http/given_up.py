"""A call whose caller does not wait any more, in the thread that is at work for it."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# Most requests are answered by then. So what is half done is completed, and a server that is silent keeps nobody for long.
SECONDS = 2.0


class GivenUp(threading.Event):
    """Once it is set nothing is tried again, and no answer is waited for longer than `SECONDS`: `end` sees to the one that is
    waited for then. What consists of several changes is completed; after `SECONDS` nothing more is read."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        # Of the request that was under way when it was set.
        self._old: socket.socket | None = None
        self._set_at = 0.0

    def set(self) -> None:
        with self._lock:
            self._old, self._set_at = self._connection, time.monotonic()
        super().set()

    def refuses(self, method: str) -> bool:
        """Whether a request with this method is of no use any more."""
        return method == "GET" and self.is_set() and time.monotonic() - self._set_at > SECONDS

    @contextmanager
    def over(self, connection: socket.socket) -> Iterator[None]:
        """While a request is under way."""
        usual = connection.gettimeout()
        with self._lock:
            self._connection = connection
        if self.is_set():
            connection.settimeout(SECONDS)
        try:
            yield
            connection.settimeout(usual)
        finally:
            with self._lock:  # From now on it is another request's.
                self._connection = self._old = None

    def end(self) -> None:
        with self._lock:
            if self._old is not None:
                with suppress(OSError):  # Not as TLS does it, which would not wake the thread.
                    socket.socket.shutdown(self._old, socket.SHUT_RDWR)
