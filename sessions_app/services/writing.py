"""The one door to the database for writes.

`write(work)` runs `work` in a transaction and returns after the commit. Inside the server on SQLite, requests that
arrive while another one commits are put together: the thread that holds the door runs all that waits, each in a
savepoint of its own, and commits once. So the cost of reaching the disk is shared, writers never wait for SQLite's
own lock, and an answer still means "on the disk". Anywhere else (PostgreSQL, commands, inside another transaction)
it is a plain transaction. `write_all(works)` does the same for works that are at hand together.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import OperationalError, connection, transaction

from sessions_app.models.sql import on_postgresql
from sessions_app.store_errors import StoreBusy, as_app_error

logger = logging.getLogger(__name__)
_grouping = False
_door = threading.Lock()
_waiting: list["_Job"] = []
_waiting_lock = threading.Lock()
MOST_IN_A_GROUP = 64


class _Job:
    __slots__ = ("error", "finished", "leads", "result", "wake", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.wake = threading.Event()
        self.finished = self.leads = False
        self.result: Any = None
        self.error: Exception | None = RuntimeError("The write was not run.")

    def run(self) -> None:
        """In a transaction (or, inside one, a savepoint) of its own; an exception is kept for the thread that asked."""
        self.result = self.error = None
        try:
            with transaction.atomic():
                self.result = self.work()
        except Exception as error:
            self.error = error


class _GroupBroken(Exception):
    """The shared transaction cannot go on: one of its members broke it."""


def group_commits(*, together: bool = True) -> None:
    """Called by the server as it begins and ends: in between, writes of many threads share commits."""
    global _grouping
    _grouping = together and not on_postgresql()


def write[T](work: Callable[[], T]) -> T:
    """Run `work` in one transaction. It may be run again from the start, so it must do nothing but talk to the database."""
    if not _grouping or connection.in_atomic_block:
        with transaction.atomic():
            return work()
    job = _Job(work)
    with _waiting_lock:
        _waiting.append(job)
        job.leads = _door.acquire(blocking=False)
    if not job.leads:
        job.wake.wait()
    if not job.finished:
        _lead()
    if job.error is not None:
        raise job.error
    result: T = job.result
    return result


def write_all[T](works: Sequence[Callable[[], T]]) -> list[T | Exception]:
    """Run each, one after the other, and commit their writes together. Answers what each returned or raised, after the commit.

    Each does its writes by `write`, so that what one of them could not do takes nothing from the others. Where the
    transaction that they share cannot go on, each is run again, with a transaction of its own.
    """
    if len(works) > 1:
        try:
            return write(lambda: _all(works))
        except Exception as error:  # Each is tried alone below, and its own error reported to whoever asked.
            if isinstance(busy := as_app_error(error), StoreBusy):
                return [busy] * len(works)
            logger.warning("%s writes that were put together are tried one by one: %s", len(works), type(error).__name__)
    return [_outcome(work) for work in works]


def _all[T](works: Sequence[Callable[[], T]]) -> list[T | Exception]:
    outcomes = []
    connection.errors_occurred = False
    for work in works:
        outcomes.append(_outcome(work))
        # After some errors SQLite has rolled back already, even where a mere read failed, and nobody need have noticed.
        if connection.needs_rollback or connection.errors_occurred:
            raise _GroupBroken
    return outcomes


def _outcome[T](work: Callable[[], T]) -> T | Exception:
    try:
        return work()
    except Exception as error:
        return error


def _lead() -> None:
    """Run what waits, hand the door to the first of those who came meanwhile, then let the others go."""
    with _waiting_lock:
        group = _waiting[:MOST_IN_A_GROUP]
        del _waiting[:MOST_IN_A_GROUP]
    try:
        _run(group)
    finally:
        with _waiting_lock:
            heir = _waiting[0] if _waiting else None
            if heir is None:
                _door.release()
        for job in group:
            job.finished = True
            job.wake.set()
        if heir is not None:
            heir.wake.set()


def _run(group: list[_Job]) -> None:
    if len(group) > 1:
        try:
            with transaction.atomic():
                for job in group:
                    job.run()
                    if connection.needs_rollback:
                        raise _GroupBroken
            return
        except Exception as error:  # Each one is tried alone below, and its own error is reported to whoever asked.
            if isinstance(as_app_error(error), StoreBusy):  # It was waited for long enough; nothing was run.
                for job in group:
                    job.error = OperationalError(*error.args)
                return
        except BaseException:
            for job in group:
                job.error = RuntimeError("The write was broken off.")
            raise
    for job in group:
        job.run()
