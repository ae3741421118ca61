"""A call whose caller does not wait any more, in the thread that is at work for it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class GivenUp(threading.Event):
    """Once it is set nothing is tried again. `end`: nor is an answer waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._is_ended = False

    @contextmanager
    def over(self, connection: socket.socket) -> Iterator[None]:
        """While a request is under way."""
        self._connection = connection
        if self._is_ended:
            self.end()
        try:
            yield
        finally:
            with self._lock:  # From now on it is another request's.
                self._connection = None

    def end(self) -> None:
        self._is_ended = True
        with self._lock:
            if self._connection is not None:
                with suppress(OSError):  # Not as TLS does it, which would not wake the thread.
                    socket.socket.shutdown(self._connection, socket.SHUT_RDWR)
