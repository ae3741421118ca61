"""Copying a thread in pieces, the oldest checkpoints first: after each piece the target is whole, with some of them."""

import uuid

from memory_app.checkpoints import rows
from memory_app.checkpoints.rows import Place, Thread
from memory_app.checkpoints.thread_locks import CheckpointsFull, ThreadNotFound, check_room, open_copy, recount
from memory_app.checkpoints.thread_services import delete_thread, in_pieces
from sessions_app.core.errors import Conflict, Invalid
from sessions_app.core.public_names import Caller
from sessions_app.core.storage.sql import execute_together


class ThreadExists(Conflict):
    code, message = "thread_exists", "The thread to copy to has checkpoints or writes. Name an empty one, or delete that one."


def copy_thread(*, caller: Caller, project_id: uuid.UUID, name: str, to: str) -> int:
    """Copy all checkpoints, values and writes to another thread. Returns the number of checkpoints. Raises ThreadNotFound,
    ThreadExists, CheckpointsFull; then nothing of the copy is left."""
    if name == to:
        raise Invalid("A thread is copied to another one.", details={"field": "to"})
    copy = _Copy(caller, project_id, name, to)
    try:
        return in_pieces(copy.some, committed=copy.committed)
    except CheckpointsFull:
        if copy.target is not None:  # Others have taken the room that was there at first.
            delete_thread(caller=caller, project_id=project_id, name=to)
        raise


class _Copy:
    """`target`: its id, once a piece was committed, which ended at the place `after`."""

    def __init__(self, caller: Caller, project_id: uuid.UUID, name: str, to: str) -> None:
        self._caller, self._project_id, self._name, self._to = caller, project_id, name, to
        self.target: int | None = None
        self._after: Place = ("", "")
        # Where the piece that is being written ends: it may run twice.
        self._piece: tuple[int, Place] = (0, self._after)

    def some(self, most: int) -> int:
        source, target = open_copy(caller=self._caller, project_id=self._project_id, source=self._name, target=self._to)
        self._check(source, target)
        places = rows.places_after(source, self._after, most)
        works = rows.copy_checkpoints(source, target, places)
        if len(places) < most:
            works += rows.copy_other_writes(source, target)
        execute_together(works)
        recount(self._project_id, target)
        self._piece = (target.id, places[-1] if places else self._after)
        return len(places)

    def committed(self) -> None:
        self.target, self._after = self._piece

    def _check(self, source: Thread, target: Thread) -> None:
        if self.target is None:
            if not rows.is_empty(target):
                raise ThreadExists
            check_room(self._project_id, source.size_bytes)
        elif target.id != self.target:  # It was deleted in between.
            raise ThreadNotFound
