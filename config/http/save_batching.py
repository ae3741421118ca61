"""Small saves of many clients: waiting saves run as one group, in one thread.

In separate threads they would mostly wait for each other: for the interpreter lock, which every statement releases and
takes again, and for the disk, which a group flushes once.
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from config.http.request_log import Message
from sessions_app.core.storage.database_threads import DatabaseThreads, close_dead_connections

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
        self.future: asyncio.Future[T | Later] = asyncio.get_running_loop().create_future()


class SaveBatcher[J, T]:
    """The thread. It takes all waiting saves, within the limits of a group, and passes them to `run`. Used on one event loop,
    which is woken once for each group."""

    def __init__(self, run: Callable[[Sequence[J]], Sequence[T | Later]]) -> None:
        self._run = run
        self.thread = DatabaseThreads(1, "saves")
        self._arrived: SimpleQueue[_Job[J, T] | None] = SimpleQueue()
        self._serves = self._closed = self._is_last = False

    def submit(self, work: J, size: int) -> asyncio.Future[T | Later]:
        """`size`: bytes of the request's body."""
        if self._closed:
            raise RuntimeError("no save is taken after the end")
        if not self._serves:  # Not before: until then the thread is free for what opens its connection.
            self._serves = True
            self.thread.submit(self._serve)
        job: _Job[J, T] = _Job(work, size)
        self._arrived.put(job)
        return job.future

    def close(self) -> None:
        """Completes the saves that were received."""
        self._closed = True
        self._arrived.put(None)
        self.thread.close()

    def _serve(self) -> None:
        waiting: deque[_Job[J, T]] = deque()
        while self._take(waiting):
            close_dead_connections()
            group = [job for job in _next_group(waiting) if job.tries or not job.future.cancelled()]
            again = self._answer(group)
            if again and not waiting and self._arrived.empty():
                time.sleep(PAUSE_SECONDS)
            waiting.extendleft(reversed(again))

    def _take(self, waiting: deque[_Job[J, T]]) -> bool:
        """All that has arrived; of nothing the first that will. False at the end."""
        while not waiting or not self._arrived.empty():
            if self._is_last and not waiting:
                return False
            job = self._arrived.get()
            if job is None:
                self._is_last = True
            else:
                waiting.append(job)
        return True

    def _answer(self, group: list[_Job[J, T]]) -> list[_Job[J, T]]:
        """Returns those that are to be retried."""
        if not group:
            return []
        loop = group[0].future.get_loop()
        try:
            outcomes = self._run([job.work for job in group])
        except BaseException as error:  # The waiting callers get the error; the thread continues.
            loop.call_soon_threadsafe(_fail, group, error)
            return []
        again: list[_Job[J, T]] = []
        done: list[tuple[_Job[J, T], T | Later]] = []
        for job, outcome in zip(group, outcomes, strict=True):
            job.tries += 1
            if outcome is not LATER or job.tries == TRIES:
                done.append((job, outcome))
            else:
                again.append(job)
        loop.call_soon_threadsafe(_tell, done)
        return again


def _next_group[J, T](waiting: deque[_Job[J, T]]) -> list[_Job[J, T]]:
    group: list[_Job[J, T]] = []
    room = SMALL_BYTES
    while waiting and len(group) < MOST_IN_A_GROUP and (not group or waiting[0].size <= room):
        group.append(waiting.popleft())
        room -= group[-1].size
    return group


def _tell[J, T](done: list[tuple[_Job[J, T], T | Later]]) -> None:
    for job, outcome in done:
        if not job.future.done():  # Nobody waits for one that was cancelled.
            job.future.set_result(outcome)


def _fail[J, T](group: list[_Job[J, T]], error: BaseException) -> None:
    for job in group:
        if not job.future.done():
            job.future.set_exception(error)
