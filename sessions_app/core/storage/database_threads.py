"""Threads that live as long as the server and keep their database connections open."""

import select
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress

from django.db import connections

from sessions_app.core.storage.sql import on_postgresql

LEAVE_SECONDS = 10


class DatabaseThreads(ThreadPoolExecutor):
    """A thread pool that closes its connections when it ends, so that they do not block dropping or moving the database."""

    def __init__(self, threads: int, name: str) -> None:
        super().__init__(threads, name)
        self._size = threads

    def submit[**P, T](self, work: Callable[P, T], /, *args: P.args, **named: P.kwargs) -> Future[T]:
        """As `Executor.submit`, but first replaces connections that the database server has closed."""

        def on_living_connections() -> T:
            close_dead_connections()
            return work(*args, **named)

        return super().submit(on_living_connections)

    def each(self, work: Callable[[], object]) -> list[Future[object]]:
        """Run `work` once on every thread."""
        together = threading.Barrier(self._size)

        def once() -> object:
            with suppress(threading.BrokenBarrierError):
                together.wait(LEAVE_SECONDS)  # So that no thread takes two jobs while another one has none.
            return work()

        return [self.submit(once) for _ in range(self._size)]

    def close(self) -> None:
        """Wait for running work, then close every thread's connections."""
        wait(self.each(connections.close_all))
        self.shutdown(wait=True)


def close_dead_connections() -> None:
    """Close this thread's connections that a database server has ended; the next use opens a new one.

    Between requests a server sends only its closing message, so a readable socket means a closed connection.
    """
    if not on_postgresql():
        return
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None and not connection.in_atomic_block:
            idle = connection.connection
            if idle.closed or _is_readable(idle.fileno()):
                connection.close()


def _is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
