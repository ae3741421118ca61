"""Whole threads: deleting, pruning, and deleting what runs made, in pieces."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from memory_app.checkpoints import rows
from memory_app.checkpoints.pruning import Known, kept
from memory_app.checkpoints.rows import Place, Thread
from memory_app.checkpoints.thread_locks import count_bytes, find_locked, recount
from memory_app.models import Checkpoint
from sessions_app.core.public_names import Caller
from sessions_app.core.storage.paced_writes import Pace, run_paced
from sessions_app.core.storage.sql import execute_together
from sessions_app.core.storage.transactions import write
from sessions_app.projects.queries import check_project

# So many checkpoints are erased in the first transaction; then as many as take a short time.
FIRST_PIECE = 25


def delete_thread(*, caller: Caller, project_id: uuid.UUID, name: str) -> int:
    """Erase a thread with all that it has. Returns how many checkpoints it had; 0 also if there is no such thread."""

    def work(most: int) -> int:
        thread = find_locked(caller=caller, project_id=project_id, name=name)
        if thread is None:
            return 0
        oldest = Checkpoint.objects.filter(thread_id=thread.id).order_by("checkpoint_id", "ns")
        places = list(oldest.values_list("ns", "checkpoint_id")[:most])
        return erase_some(project_id, thread, places) if len(places) == most else _erase(project_id, thread)

    return in_pieces(work)


def in_pieces(work: Callable[[int], int], *, committed: Callable[[], None] = lambda: None) -> int:
    """The sum of what `work` returns. It takes at most so many checkpoints in one transaction, and fewer when it is done.

    After each piece the thread is whole: other writers of the store, and of the thread, come in between.
    `committed` is called after each.
    """
    pace, count = Pace(FIRST_PIECE), 0

    def timed(most: int) -> int:
        pace.begin()
        return work(most)

    def steps() -> Iterator[bool]:
        nonlocal count
        done = most = pace.rows
        while done == most:
            most = pace.rows
            done = write(partial(timed, most))
            committed()
            pace.end()
            count += done
            yield True

    run_paced(steps())
    return count


def _erase(project_id: uuid.UUID, thread: Thread) -> int:
    count = Checkpoint.objects.filter(thread_id=thread.id).count()
    execute_together(rows.erase_thread(thread))
    count_bytes(project_id, -thread.size_bytes)
    return count


def prune_thread(*, caller: Caller, project_id: uuid.UUID, name: str) -> int:
    """Keep the newest checkpoint of each namespace, and what its delta channels are rebuilt from. Returns how many it erased."""

    def work(most: int) -> int:
        thread = find_locked(caller=caller, project_id=project_id, name=name)
        if thread is None:
            return 0
        columns = ("ns", "checkpoint_id", "parent_id", "metadata", "versions")
        known = [Known(*row) for row in Checkpoint.objects.filter(thread_id=thread.id).values_list(*columns)]
        stays = kept(known)
        gone = sorted((each.id, each.ns) for each in known if (each.ns, each.id) not in stays)
        return erase_some(project_id, thread, [(ns, checkpoint_id) for checkpoint_id, ns in gone[:most]])

    return in_pieces(work)


def delete_runs(*, caller: Caller, project_id: uuid.UUID, run_ids: Sequence[str]) -> int:
    """Erase the checkpoints whose metadata name one of these runs, in all threads. Returns their number."""
    check_project(caller=caller, project_id=project_id)
    theirs = Checkpoint.objects.filter(run_id__in=[name for name in run_ids if name])

    def work(name: str, most: int) -> int:
        thread = find_locked(caller=caller, project_id=project_id, name=name)
        if thread is None:
            return 0
        oldest = theirs.filter(thread_id=thread.id).order_by("checkpoint_id", "ns")
        return erase_some(project_id, thread, list(oldest.values_list("ns", "checkpoint_id")[:most]))

    names = theirs.filter(thread__project_id=project_id).order_by("thread__name").values_list("thread__name", flat=True)
    return sum(in_pieces(partial(work, name)) for name in list(names.distinct()))


def erase_some(project_id: uuid.UUID, thread: Thread, places: list[Place]) -> int:
    if places:
        execute_together([*rows.erase_checkpoints(thread, places), rows.erase_unused_values(thread)])
        recount(project_id, thread)
    return len(places)
