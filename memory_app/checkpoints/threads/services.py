"""Whole threads: deleting, pruning, and deleting what runs made, in pieces."""

import uuid
from collections.abc import Sequence
from functools import partial

from memory_app.checkpoints import row_erasing
from memory_app.checkpoints.thread_locks import count_bytes, find_locked, give_room
from memory_app.checkpoints.threads.erasing import Piece, Pruning, erase_some, erase_unused_values, in_pieces
from memory_app.models import Checkpoint
from sessions_app.core.public_names import Caller
from sessions_app.projects.queries import check_project


def delete_thread(*, caller: Caller, project_id: uuid.UUID, name: str) -> int:
    """Erase a thread with all that it has: its checkpoints, then what is left. Returns how many checkpoints it had; 0 also if
    there is no such thread."""

    def work(most: int) -> Piece:
        thread = find_locked(caller=caller, project_id=project_id, name=name)
        if thread is None:
            return 0, False
        oldest = Checkpoint.objects.filter(thread_id=thread.id).order_by("checkpoint_id", "ns")
        listed = list(oldest.values_list("ns", "checkpoint_id")[:most])
        chosen, erased_rows = row_erasing.fitting(thread, listed, most)
        count, freed = row_erasing.erase_checkpoints(thread, chosen)
        if erased_rows < most and len(chosen) == len(listed):  # These were the last.
            rest, freed_rest = row_erasing.erase_rest(thread, most - erased_rows)
            if rest < most - erased_rows:
                row_erasing.erase_thread(thread)
                count_bytes(project_id, -thread.size_bytes)
                return count, False
            freed += freed_rest
        give_room(project_id, thread, freed)
        return count, True

    return in_pieces(work)


def prune_thread(*, caller: Caller, project_id: uuid.UUID, name: str) -> int:
    """Keep the newest checkpoint of each namespace, and what its delta channels are rebuilt from. Returns how many it erased."""
    check_project(caller=caller, project_id=project_id)
    pruning = Pruning(caller, project_id, name)
    count = in_pieces(pruning.some, committed=pruning.committed)
    erase_unused_values(caller=caller, project_id=project_id, name=name)
    return count


def delete_runs(*, caller: Caller, project_id: uuid.UUID, run_ids: Sequence[str]) -> int:
    """Erase the checkpoints whose metadata name one of these runs, in all threads. Returns their number."""
    check_project(caller=caller, project_id=project_id)
    theirs = Checkpoint.objects.filter(run_id__in=[name for name in run_ids if name])

    def work(name: str, most: int) -> Piece:
        thread = find_locked(caller=caller, project_id=project_id, name=name)
        if thread is None:
            return 0, False
        oldest = theirs.filter(thread_id=thread.id).order_by("checkpoint_id", "ns")
        listed = list(oldest.values_list("ns", "checkpoint_id")[:most])
        count, chosen = erase_some(project_id, thread, listed, most)
        return count, len(chosen) < len(listed) or len(listed) == most

    names = theirs.filter(thread__project_id=project_id).order_by("thread__name").values_list("thread__name", flat=True)
    erased = 0
    for name in list(names.distinct()):
        erased += in_pieces(partial(work, name))
        erase_unused_values(caller=caller, project_id=project_id, name=name)
    return erased
