"""Threads that live as long as the server and keep their database connections for as long."""

import threading
from concurrent.futures import ThreadPoolExecutor

from django.db import connections

LEAVE_SECONDS = 10


class DatabaseThreads(ThreadPoolExecutor):
    """A pool that hands its connections back when it ends: a database that is to be dropped or moved waits for none of them."""

    def __init__(self, threads: int, name: str) -> None:
        super().__init__(threads, name)
        self._size = threads

    def close(self) -> None:
        """Let what was begun run to its end, then close every thread's connections."""
        together = threading.Barrier(self._size)

        def leave() -> None:
            try:
                together.wait(LEAVE_SECONDS)  # So that no thread leaves twice while another one has not left.
            except threading.BrokenBarrierError:
                pass
            finally:
                connections.close_all()

        for _ in range(self._size):
            self.submit(leave)
        self.shutdown(wait=True)
