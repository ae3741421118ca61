"""Chunks of the answers that one runner makes. Those that come during a write are written together, in one transaction."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from generation_app.generations.answer import Answer
from generation_app.streams.chunk_batches import Append, append_together

MOST_TOGETHER = 32


class _Waiting(NamedTuple):
    answer: Answer
    written: asyncio.Future[None]


class StreamWriter:
    """`in_database` runs a function in a database thread and returns its result. Used on the event loop's thread only."""

    def __init__(self, in_database: Callable[[Callable[[], list[Exception | None]]], Awaitable[list[Exception | None]]]) -> None:
        self._in_database = in_database
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None

    async def write(self, answer: Answer) -> None:
        """Append what the answer received to its stream. Raises what `append_chunks` raises."""
        if not answer.waits:
            return
        entry = _Waiting(answer, asyncio.get_running_loop().create_future())
        self._waiting.append(entry)
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        try:
            await asyncio.shield(entry.written)
        except asyncio.CancelledError:
            # A write that has begun is not abandoned: the answer's last one comes behind it.
            if entry in self._waiting:
                self._waiting.remove(entry)
            else:
                await asyncio.wait([entry.written])
            raise

    async def _work(self) -> None:
        while self._waiting:
            some, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
            try:
                failures = await self._in_database(partial(_write, [entry.answer for entry in some]))
            except Exception as error:
                failures = [error] * len(some)
            for entry, failure in zip(some, failures, strict=True):
                if failure is None:
                    entry.written.set_result(None)
                else:
                    entry.written.set_exception(failure)
                    entry.written.exception()  # One that is cancelled does not look.
        self._task = None


def _write(answers: Sequence[Answer]) -> list[Exception | None]:
    """In a database thread. For each answer the error, if its chunks were not stored. Raises DatabaseError."""
    appends = [answer.next_append() for answer in answers]
    offsets = iter(append_together([append for append in appends if append is not None]))
    return [
        None if append is None else _outcome(answer, append, next(offsets))
        for answer, append in zip(answers, appends, strict=True)
    ]


def _outcome(answer: Answer, append: Append, offset: int | None) -> Exception | None:
    try:
        if offset is None:
            answer.stream()
        else:
            answer.appended(append)
    except Exception as error:
        return error
    return None
