"""Single entry point for writes.

`write(work)` runs `work` in a transaction and returns after the commit. Inside the server on SQLite, requests that
arrive while another one commits are grouped: the leader thread runs all waiting requests, each in its own
savepoint, and commits once. So the disk sync is shared, writers never wait for SQLite's own lock, and a
response still means that the data is on disk. A group has one request with a large body at most, so that a small
one does not wait for all that came before it. Anywhere else (PostgreSQL, commands, inside another transaction)
it is a plain transaction. Saves of many clients arrive as one write (`save_batches.py`).
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction

from sessions_app.core.errors import Unavailable
from sessions_app.core.storage.database_errors import StoreBusy, as_app_error
from sessions_app.core.storage.sql import on_postgresql
from sessions_app.core.storage.statement_batch import current_batch

logger = logging.getLogger(__name__)
_grouping = False
_leadership = threading.Lock()
_waiting: list["_Job"] = []
_waiting_lock = threading.Lock()
MOST_IN_A_GROUP = 64
# What a request with a larger body writes takes about as long as the commit.
LARGE_BYTES = 64_000
_body_bytes: ContextVar[int] = ContextVar("body_bytes", default=0)
ATTEMPTS = 10
# PostgreSQL's code for it.
_REFERS_TO_NOTHING = "23503"


class StaleRead(Unavailable):
    """Raised by `work` if the rows that it locked differ from those that it read: `write` runs it again."""

    def __init__(self) -> None:
        super().__init__(retry_after=1)


class _Job:
    __slots__ = ("error", "finished", "is_large", "leads", "result", "wake", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work, self.is_large = work, _body_bytes.get() > LARGE_BYTES
        self.wake = threading.Event()
        self.finished = self.leads = False
        self.result: Any = None
        self.error: Exception | None = RuntimeError("The write was not run.")

    def run(self) -> None:
        """Run in its own transaction (or savepoint, inside one); an exception is kept for the requesting thread."""
        self.error = RuntimeError("The write was interrupted.")
        try:
            with transaction.atomic():
                self.result = self.work()
            self.error = None
        except Exception as error:
            self.error = error


class _GroupBroken(Exception):
    """The shared transaction cannot continue: one of its members broke it."""


def group_commits(*, together: bool = True) -> None:
    """Called when the server starts and stops: in between, writes of many threads share commits."""
    global _grouping
    _grouping = together and not on_postgresql()


def groups_commits() -> bool:
    """True if this process is the server on SQLite."""
    return _grouping


@contextmanager
def writes_for(body_bytes: int) -> Iterator[None]:
    """What this thread writes inside is for a request with a body of this size."""
    before = _body_bytes.set(body_bytes)
    try:
        yield
    finally:
        _body_bytes.reset(before)


def write[T](work: Callable[[], T]) -> T:
    """Run `work` in one transaction. It may run again from the start, so it must have no effects outside the database."""
    if current_batch() is not None:  # An outer transaction is all or nothing.
        return work()
    if not _grouping or connection.in_atomic_block:
        return _run_alone(work)
    job = _Job(work)
    with _waiting_lock:
        _waiting.append(job)
        job.leads = _leadership.acquire(blocking=False)
    if not job.leads:
        job.wake.wait()
    if not job.finished:
        _lead()
    if job.error is not None:
        raise job.error
    result: T = job.result
    return result


def _run_alone[T](work: Callable[[], T]) -> T:
    for attempt in count(1):
        try:
            with transaction.atomic():
                return work()
        except (StaleRead, IntegrityError) as error:
            if attempt == ATTEMPTS or not _may_succeed(error):
                raise
    raise AssertionError


def _may_succeed(error: Exception) -> bool:
    """In another attempt: it reads what changed, also where a row that it refers to was erased before its end."""
    return isinstance(error, StaleRead) or getattr(error.__cause__, "sqlstate", None) == _REFERS_TO_NOTHING


def _lead() -> None:
    """Run a group of waiting requests, pass leadership to the first one that is left, then release the others."""
    with _waiting_lock:
        group = _next_group()
    try:
        _run(group)
    finally:
        with _waiting_lock:
            heir = _waiting[0] if _waiting else None
            if heir is None:
                _leadership.release()
        for job in group:
            job.finished = True
            job.wake.set()
        if heir is not None:
            heir.wake.set()


def _next_group() -> list[_Job]:
    """Taken from those that wait, in their order."""
    group, left = list[_Job](), list[_Job]()
    has_large = False
    for job in _waiting:
        fits = len(group) < MOST_IN_A_GROUP and not (job.is_large and has_large)
        (group if fits else left).append(job)
        has_large |= fits and job.is_large
    _waiting[:] = left
    return group


def _run(group: list[_Job]) -> None:
    if len(group) > 1:
        try:
            with transaction.atomic():
                for job in group:
                    job.run()
                    if connection.needs_rollback:
                        raise _GroupBroken
            return
        except Exception as error:  # Each one is retried alone below, and its own error is reported to its caller.
            if isinstance(as_app_error(error), StoreBusy):  # Timed out waiting for the database; nothing was run.
                for job in group:
                    job.error = OperationalError(*error.args)
                return
        except BaseException:
            for job in group:
                job.error = RuntimeError("The write was interrupted.")
            raise
    for job in group:
        job.run()
