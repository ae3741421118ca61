"""Erasing in pieces, each of which takes as long however long the thread is.

A value goes when no checkpoint refers to it. So checkpoints go first, and then, in pieces of their own, the values that are left
over: these are sought once, without the lock. Under the lock only checkpoints that were put since are asked.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from memory_app.checkpoints import row_erasing
from memory_app.checkpoints.pruning import Known, kept
from memory_app.checkpoints.rows import Place, Thread
from memory_app.checkpoints.thread_locks import find_locked, give_room
from sessions_app.core.public_names import Caller
from sessions_app.core.storage.paced_writes import Pace, run_paced
from sessions_app.core.storage.transactions import write

# So many rows are written or erased in the first transaction; then as many as take a short time.
FIRST_PIECE = 25
# How many checkpoints a piece erased or copied, and whether there may be more.
type Piece = tuple[int, bool]


def in_pieces(work: Callable[[int], Piece], *, committed: Callable[[], None] = lambda: None) -> int:
    """The sum of the checkpoints that `work` returns. It takes about so many rows in one transaction.

    After each piece the thread is whole: other writers of the store, and of the thread, come in between.
    `committed` is called after each; `work` may run again before it.
    """
    pace, count = Pace(FIRST_PIECE), 0

    def timed(most: int) -> Piece:
        pace.begin()
        return work(most)

    def steps() -> Iterator[bool]:
        nonlocal count
        more = True
        while more:
            done, more = write(partial(timed, pace.rows))
            committed()
            pace.end()
            count += done
            yield True

    run_paced(steps())
    return count


def erase_some(project_id: uuid.UUID, thread: Thread, places: Sequence[Place], most: int) -> tuple[int, list[Place]]:
    """The first of these checkpoints, as many as a piece has, with their writes. Returns how many there still were, and which."""
    chosen, _ = row_erasing.fitting(thread, places, most)
    count, freed = row_erasing.erase_checkpoints(thread, chosen)
    if count:
        give_room(project_id, thread, freed)
    return count, chosen


class Pruning:
    """`some` erases what is not kept. It is chosen once, and again only if a checkpoint was put or changed since."""

    def __init__(self, caller: Caller, project_id: uuid.UUID, name: str) -> None:
        self._caller, self._project_id, self._name = caller, project_id, name
        thread_id = row_erasing.find_thread(project_id, name)
        # The highest row that was looked at, and the places that are left to be erased.
        self._chosen = (0, list[Place]()) if thread_id is None else _choose(thread_id)
        self._after_piece = self._chosen

    def some(self, most: int) -> Piece:
        thread = find_locked(caller=self._caller, project_id=self._project_id, name=self._name)
        if thread is None:
            return 0, False
        newest, gone = _choose(thread.id) if row_erasing.has_newer(thread, self._chosen[0]) else self._chosen
        count, chosen = erase_some(self._project_id, thread, gone[:most], most)
        self._after_piece = newest, gone[len(chosen) :]
        return count, len(chosen) < len(gone)

    def committed(self) -> None:
        self._chosen = self._after_piece


def _choose(thread_id: int) -> tuple[int, list[Place]]:
    newest = row_erasing.newest_row(thread_id)  # First: what comes in between is looked at again.
    places = row_erasing.all_places(thread_id)
    latest = [(ns, checkpoint_id) for ns, checkpoint_id in dict(places).items()]

    def find(place: Place) -> Known | None:
        return next(iter(row_erasing.read_known(thread_id, [place], with_versions=True)), None)

    stays = kept(row_erasing.read_known(thread_id, latest), find)
    return newest, [place for place in places if place not in stays]


def erase_unused_values(*, caller: Caller, project_id: uuid.UUID, name: str) -> None:
    """The values of a thread that no checkpoint refers to."""
    sweep = _Sweep(caller, project_id, name)
    if sweep.ids:
        in_pieces(sweep.some, committed=sweep.committed)


class _Sweep:
    """`ids`: of the values that no checkpoint referred to when it began."""

    def __init__(self, caller: Caller, project_id: uuid.UUID, name: str) -> None:
        self._caller, self._project_id, self._name = caller, project_id, name
        self._thread_id = row_erasing.find_thread(project_id, name)
        self.ids: list[int] = []
        self._done = self._after_piece = 0
        if self._thread_id is not None:
            self._newest = row_erasing.newest_row(self._thread_id)  # First: what comes in between is asked again.
            self.ids = row_erasing.unused_values(self._thread_id)

    def some(self, most: int) -> Piece:
        thread = find_locked(caller=self._caller, project_id=self._project_id, name=self._name)
        if thread is None or thread.id != self._thread_id:
            return 0, False
        self._after_piece = self._done + most
        used = row_erasing.values_of_newer(thread, self._newest)
        chosen = [value_id for value_id in self.ids[self._done : self._after_piece] if value_id not in used]
        give_room(self._project_id, thread, row_erasing.erase_values(thread, chosen))
        return 0, self._after_piece < len(self.ids)

    def committed(self) -> None:
        self._done = self._after_piece
