"""Copying a thread in pieces, the oldest checkpoints first: after each piece the target is whole, with some of them."""

import uuid

from memory_app.checkpoints import row_erasing, rows
from memory_app.checkpoints.rows import Place, Thread
from memory_app.checkpoints.thread_locks import (
    CheckpointsFull,
    ThreadNotFound,
    check_room,
    count_bytes,
    find_locked,
    open_copy,
    take_room,
)
from memory_app.checkpoints.threads.erasing import Piece, erase_some, erase_unused_values, in_pieces
from sessions_app.core.errors import Conflict, Invalid
from sessions_app.core.limits import quotas
from sessions_app.core.public_names import Caller
from sessions_app.core.storage.transactions import write


class ThreadExists(Conflict):
    code, message = "thread_exists", "The thread to copy to has checkpoints or writes. Name an empty one, or delete that one."


def copy_thread(*, caller: Caller, project_id: uuid.UUID, name: str, to: str) -> int:
    """Copy all checkpoints, values and writes to another thread. Returns the number of checkpoints. Raises ThreadNotFound,
    ThreadExists, CheckpointsFull, QuotaExceeded; then nothing of the copy is left, only what others put there meanwhile."""
    if name == to:
        raise Invalid("A thread is copied to another one.", details={"field": "to"})
    copy = _Copy(caller, project_id, name, to)
    try:
        return in_pieces(copy.some, committed=copy.committed)
    except (CheckpointsFull, ThreadNotFound):
        if copy.target is not None:  # Others have taken the room that was there at first, or deleted one of the threads.
            in_pieces(copy.undo_some, committed=copy.undone)
            erase_unused_values(caller=caller, project_id=project_id, name=to)
            write(copy.erase_if_empty)
        raise


class _Copy:
    """`target`: its id, once a piece was committed, which ended at the place `after`."""

    def __init__(self, caller: Caller, project_id: uuid.UUID, name: str, to: str) -> None:
        self._caller, self._project_id, self._name, self._to = caller, project_id, name, to
        self.target: int | None = None
        self._after: Place = ("", "")
        # What is copied, and the piece that is being written or undone, with the target's id: it may run twice.
        self._copied: list[Place] = []
        self._piece: tuple[int, list[Place]] = (0, [])

    def some(self, most: int) -> Piece:
        source, target = open_copy(caller=self._caller, project_id=self._project_id, source=self._name, target=self._to)
        self._check(source, target)
        places = rows.places_after(source, self._after, most)
        size_bytes = rows.copy_checkpoints(source, target, places)
        if len(places) < most:
            size_bytes += rows.copy_other_writes(source, target)
        take_room(self._project_id, target, size_bytes)
        self._piece = (target.id, places)
        return len(places), len(places) == most

    def committed(self) -> None:
        self.target, places = self._piece
        self._copied += places
        self._after = places[-1] if places else self._after

    def undo_some(self, most: int) -> Piece:
        """Erase as many checkpoints of the copy, the newest first."""
        target = find_locked(caller=self._caller, project_id=self._project_id, name=self._to)
        if target is None or target.id != self.target:
            return 0, False
        count, erased = erase_some(self._project_id, target, self._copied[: -most - 1 : -1], most)
        self._piece = (target.id, erased)
        return count, len(erased) < len(self._copied)

    def erase_if_empty(self) -> None:
        """The thread of the copy, if nobody else uses it."""
        target = find_locked(caller=self._caller, project_id=self._project_id, name=self._to)
        if target is not None and target.id == self.target and rows.is_empty(target):
            row_erasing.erase_thread(target)
            count_bytes(self._project_id, -target.size_bytes)

    def undone(self) -> None:
        self._copied = self._copied[: len(self._copied) - len(self._piece[1])]

    def _check(self, source: Thread, target: Thread) -> None:
        if self.target is None:
            if not rows.is_empty(target):
                raise ThreadExists
            check_room(self._project_id, source.size_bytes)
            quotas.check_bytes(self._caller.user_id, source.size_bytes)  # The request's own bytes say nothing of it.
        elif target.id != self.target:  # It was deleted in between.
            raise ThreadNotFound
