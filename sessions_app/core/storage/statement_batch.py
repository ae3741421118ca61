"""Batches the statements of several saves: all reads before the first save, all writes after the last.

Code that reads and writes by `sql.py` need not know of it. A prefetched row is the result of the exact statement that asks
for it. Queued writes run before any other statement, so every statement sees them.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

Parameters = Sequence[Any]
_SET_NUMBER = "UPDATE sessions_app_project SET event_seq = %s WHERE id = %s"


class Work(NamedTuple):
    """A statement and the parameters of each of its runs."""

    statement: str
    many_parameters: Sequence[Parameters]


class Batch:
    """The batch of one transaction, which has locked the sessions and projects whose rows were prefetched."""

    def __init__(self) -> None:
        self._ahead: dict[tuple[Any, ...], list[Any]] = {}
        self._of_session: defaultdict[Any, list[tuple[Any, ...]]] = defaultdict(list)
        self._later: dict[str, list[Parameters]] = {}
        # By project id: the number of its newest event, and its path.
        self._numbers: dict[Any, tuple[int, str]] = {}
        self._counted: set[Any] = set()
        # Counts writes sent or queued: a save that fails after one cannot be left out of the transaction.
        self.changes = 0

    def put(self, session: Any, statement: str, parameters: Parameters, rows: list[Any]) -> None:
        key = (statement, *parameters)
        self._ahead[key] = rows
        self._of_session[session].append(key)

    def rows(self, statement: str, parameters: Parameters) -> list[Any] | None:
        """The prefetched rows of this statement; None: they were not prefetched."""
        return self._ahead.get((statement, *parameters)) if self._ahead else None

    def forget(self, session: Any) -> None:
        """Discard the prefetched rows of a session that was written to."""
        for key in self._of_session.pop(session, ()):
            del self._ahead[key]

    def put_number(self, project: Any, event_seq: int, path: str) -> None:
        self._numbers[project] = (event_seq, path)

    def next_number(self, project: Any) -> tuple[int, str] | None:
        """The number of the project's next event, and its path; None if its row was not prefetched."""
        if project not in self._numbers:
            return None
        event_seq, path = self._numbers[project]
        self._numbers[project] = (event_seq + 1, path)
        self._counted.add(project)
        self.changes += 1
        return event_seq + 1, path

    def write_later(self, statement: str, many_parameters: Sequence[Parameters]) -> None:
        self._later.setdefault(statement, []).extend(many_parameters)
        self.changes += 1

    def take_later(self) -> list[Work]:
        """Remove and return the queued writes."""
        works = [Work(statement, many_parameters) for statement, many_parameters in self._later.items()]
        if self._counted:
            works.append(Work(_SET_NUMBER, [[self._numbers[project][0], project] for project in self._counted]))
        self._later, self._counted = {}, set()
        return works


class _Current(threading.local):
    batch: Batch | None = None


_current = _Current()


def current_batch() -> Batch | None:
    """The batch of this thread's transaction."""
    return _current.batch


@contextmanager
def batching(batch: Batch) -> Iterator[None]:
    _current.batch = batch
    try:
        yield
    finally:
        _current.batch = None
