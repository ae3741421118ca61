"""Small saves of many clients: run one after the other in one thread, committed together.

In a thread each they would mostly wait for one another: for the interpreter, which every statement gives away and asks
back, and for the one writer that SQLite has. PostgreSQL has many, and takes its saves from many threads.
"""

import re
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack

from config.exchange import Message
from sessions_app.live.threads import DatabaseThreads
from sessions_app.services.writing import write_all

SAVES = re.compile(r"/api/v1/sessions/[^/]+/(?:changes|flush)")
# A larger one is better read in a thread of its own; and so much all of a group may have, for others wait for its end.
SMALL_BYTES = 64_000
MOST_IN_A_GROUP = 32


def is_small_save(scope: Message, body: bytes) -> bool:
    return scope["method"] == "POST" and len(body) <= SMALL_BYTES and SAVES.fullmatch(scope["path"]) is not None


class _Job[T]:
    __slots__ = ("future", "size", "work")

    def __init__(self, work: Callable[[ExitStack], T], size: int) -> None:
        self.work, self.size = work, size
        self.future: Future[T] = Future()


class SavesTogether[T]:
    """The thread. It takes all that waits at once, within the limits of a group.

    `work` is called with a stack for what is to be ended after the commit. It may be called a second time, where the
    transaction that it shared could not go on.
    """

    def __init__(self) -> None:
        self._thread = DatabaseThreads(1, "saves")
        self._waiting: deque[_Job[T]] = deque()
        self._lock = threading.Lock()
        self._busy = False

    def submit(self, work: Callable[[ExitStack], T], size: int) -> Future[T]:
        """`size`: bytes of the request's body."""
        job = _Job(work, size)
        with self._lock:
            if not self._busy:
                self._thread.submit(self._take)
                self._busy = True
            self._waiting.append(job)
        return job.future

    def close(self) -> None:
        """Let what was received run to its end."""
        self._thread.close()

    def _take(self) -> None:
        while group := self._next():
            _run([job for job in group if job.future.set_running_or_notify_cancel()])

    def _next(self) -> list[_Job[T]]:
        group: list[_Job[T]] = []
        room = SMALL_BYTES
        with self._lock:
            while self._waiting and len(group) < MOST_IN_A_GROUP and (not group or self._waiting[0].size <= room):
                group.append(self._waiting.popleft())
                room -= group[-1].size
            self._busy = bool(group)
        return group


def _run[T](group: list[_Job[T]]) -> None:
    try:
        with ExitStack() as ending:
            outcomes = write_all([_bound(job.work, ending) for job in group])
    except BaseException as error:  # Whoever waits is told; the thread goes on with the next.
        for job in group:
            job.future.set_exception(error)
        return
    for job, outcome in zip(group, outcomes, strict=True):
        if isinstance(outcome, Exception):
            job.future.set_exception(outcome)
        else:
            job.future.set_result(outcome)


def _bound[T](work: Callable[[ExitStack], T], ending: ExitStack) -> Callable[[], T]:
    return lambda: work(ending)
