"""Small saves of many clients: waiting saves run as one group, in one thread.

In separate threads they would mostly wait for each other: for the interpreter lock, which every statement releases and
takes again, and for the disk, which a group flushes once.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from config.http.request_log import Message
from sessions_app.core.storage.database_threads import DatabaseThreads

SAVES = re.compile(r"/api/v1/sessions/[^/]+/changes")
# A larger save runs better in its own thread. This is also the limit for a whole group, because others wait for its end.
SMALL_BYTES = 64_000
MOST_IN_A_GROUP = 32
# A save that could not run is retried so often, with this pause if nothing else waits.
TRIES, PAUSE_SECONDS = 5, 0.002


class Later:
    """An outcome: retry with the next group. After the last attempt it is final."""


LATER = Later()


def is_small_save(scope: Message, body: bytes) -> bool:
    return scope["method"] == "POST" and len(body) <= SMALL_BYTES and SAVES.fullmatch(scope["path"]) is not None


class _Job[J, T]:
    __slots__ = ("future", "size", "tries", "work")

    def __init__(self, work: J, size: int) -> None:
        self.work, self.size, self.tries = work, size, 0
        self.future: Future[T | Later] = Future()


class SaveBatcher[J, T]:
    """The thread. It takes all waiting saves, within the limits of a group, and passes them to `run`."""

    def __init__(self, run: Callable[[Sequence[J]], Sequence[T | Later]]) -> None:
        self._run = run
        self.thread = DatabaseThreads(1, "saves")
        self._waiting: deque[_Job[J, T]] = deque()
        self._lock = threading.Lock()
        self._busy = False

    def submit(self, work: J, size: int) -> Future[T | Later]:
        """`size`: bytes of the request's body."""
        job = _Job[J, T](work, size)
        with self._lock:
            if not self._busy:
                self.thread.submit(self._take)
                self._busy = True
            self._waiting.append(job)
        return job.future

    def close(self) -> None:
        """Completes the saves that were received."""
        self.thread.close()

    def _take(self) -> None:
        while group := self._next():
            self._answer([job for job in group if job.tries or job.future.set_running_or_notify_cancel()])

    def _next(self) -> list[_Job[J, T]]:
        group: list[_Job[J, T]] = []
        room = SMALL_BYTES
        with self._lock:
            while self._waiting and len(group) < MOST_IN_A_GROUP and (not group or self._waiting[0].size <= room):
                group.append(self._waiting.popleft())
                room -= group[-1].size
            self._busy = bool(group)
        return group

    def _answer(self, group: list[_Job[J, T]]) -> None:
        try:
            outcomes = self._run([job.work for job in group])
        except BaseException as error:  # The waiting callers get the error; the thread continues.
            for job in group:
                job.future.set_exception(error)
            return
        for job, outcome in zip(group, outcomes, strict=True):
            job.tries += 1
            if outcome is not LATER or job.tries == TRIES:
                job.future.set_result(outcome)
        again = [job for job in group if not job.future.done()]
        with self._lock:
            alone = not self._waiting
            self._waiting.extendleft(reversed(again))
        if again and alone:
            time.sleep(PAUSE_SECONDS)
