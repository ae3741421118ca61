"""What the server does by itself beside answering: threads that index for search, and forget what is due."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import connections

from config.logs import place_of
from generation_app.streams.silent_streams import SilenceWatch
from mcp_app.activity.services import store_recorded
from mcp_app.core.held_values import write_again, write_last
from memory_app.errors.noise.filtering import flush_filtered
from sessions_app.chats.files.collection import collect_orphans
from sessions_app.chats.lifecycle.pruning import prune_in_batches
from sessions_app.chats.reading.session_totals import session_totals
from sessions_app.chats.search.index_update import index_in_passing, index_rows_in_passing
from sessions_app.core.storage.database_errors import as_app_error
from sessions_app.portability.imports.background_runner import ImportRunner

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    """`work` is called every `seconds`, and again at once as long as it answers something else than 0.

    `at_end` is called once more when the server ends, after its last request. `first`: after how many seconds it is called first,
    where that is not the same: a server that is never up for an hour has to prune too. Not at once: who restores an old backup
    may want something from its trash.
    """

    name: str
    seconds: float
    work: Callable[[], int]
    at_end: Callable[[], int] | None = None
    first: float | None = None


class Batches:
    """One batch for each call, as `work` of a task; 0 at their end. After an error they begin again."""

    def __init__(self, begin: Callable[[], Iterator[tuple[str, int]]]) -> None:
        self._begin = begin
        self._rest: Iterator[tuple[str, int]] | None = None

    def __call__(self) -> int:
        rest, self._rest = self._rest or self._begin(), None
        _, count = next(rest, ("", 0))
        self._rest = rest if count else None
        return count


TASKS = (
    BackgroundTask("indexing", 1.0, index_in_passing),
    # Seldom: a search does not wait for it, and rows that are written again and again are indexed once.
    BackgroundTask("indexing rows", 5.0, index_rows_in_passing),
    BackgroundTask("importing", 0.5, ImportRunner().work),
    BackgroundTask("counting tokens", 0.5, session_totals.count_on),
    BackgroundTask("silent streams", 5.0, SilenceWatch()),
    BackgroundTask("flushing", settings.FLUSH_SECONDS, flush_filtered, at_end=flush_filtered),
    BackgroundTask("writing held values", 5.0, write_again, at_end=write_last),
    BackgroundTask("recording agents", 2.0, store_recorded, at_end=store_recorded),
    BackgroundTask("pruning", 3600.0, Batches(prune_in_batches), first=600.0),
    BackgroundTask("collecting", 6 * 3600.0, collect_orphans),
)
# Of these, what a process needs that serves one agent without the server.
_OF_AGENTS = {"indexing", "indexing rows", "flushing", "writing held values", "recording agents"}
AGENT_TASKS = tuple(task for task in TASKS if task.name in _OF_AGENTS)
# Between two steps of a chore, so that saves come first.
PAUSE_SECONDS = 0.005
# A database that is away for a night is told of once in this time by each chore, not in each of its rounds.
TOLD_SECONDS = 60.0


class BackgroundTasks:
    """One thread a chore; none of them keeps the process alive."""

    def __init__(self, chores: tuple[BackgroundTask, ...] = TASKS) -> None:
        self._ending = threading.Event()
        self._told: dict[str, tuple[str, float]] = {}
        self._threads = [threading.Thread(target=self._run, args=(chore,), name=chore.name, daemon=True) for chore in chores]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _run(self, chore: BackgroundTask) -> None:
        try:
            pause = chore.seconds if chore.first is None else chore.first
            while not self._ending.wait(pause):
                self._do(chore)
                pause = chore.seconds
            if chore.at_end is not None:
                self._do(replace(chore, work=chore.at_end))
        finally:
            connections.close_all()

    def _do(self, chore: BackgroundTask) -> None:
        try:
            while chore.work() and not self._ending.wait(PAUSE_SECONDS):
                pass
            if self._told.pop(chore.name, None):
                logger.warning("%s works again", chore.name)
        except Exception as error:
            # A full disk or a database that is away: the next round finds out whether it still is.
            self._tell(chore, place_of(error))
            as_app_error(error)  # If no connection is left, the log says so.
            for connection in connections.all(initialized_only=True):
                connection.close_if_unusable_or_obsolete()

    def _tell(self, chore: BackgroundTask, failure: str) -> None:
        before, until = self._told.get(chore.name, ("", 0.0))
        if failure != before or time.monotonic() >= until:
            self._told[chore.name] = failure, time.monotonic() + TOLD_SECONDS
            logger.warning("%s failed: %s", chore.name, failure)
