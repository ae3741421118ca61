"""What every write of a thread begins and ends with: its lock, and the bytes that it takes.

No lease applies: a graph's state has many writers, which each write their own checkpoints. The locks are taken in this order:
threads by name, then the row of the project's memory, which counts the bytes.
"""

import uuid

from django.conf import settings

from memory_app.checkpoints import rows
from memory_app.checkpoints.rows import Thread
from memory_app.models import MemoryStore
from sessions_app.core.errors import InsufficientStorage, NotFound
from sessions_app.core.id_parsing import refuse_dots
from sessions_app.core.public_names import Caller, db_uuid, now
from sessions_app.core.storage.sql import execute_together, fetch_row
from sessions_app.core.storage.transactions import StaleRead
from sessions_app.projects.queries import check_project


class CheckpointsFull(InsufficientStorage):
    code = "over_checkpoint_quota"
    message = "The project's checkpoints take all of their room. Prune or delete threads, or raise STILLHERE_CHECKPOINT_BYTES."


class ThreadNotFound(NotFound):
    kind, message = "thread", "This project has no thread of this name. List its threads."


def open_thread(*, caller: Caller, project_id: uuid.UUID, name: str) -> Thread:
    """The thread, locked until the commit; created by its first write."""
    check_project(caller=caller, project_id=project_id)
    return _made_and_locked(project_id, name)


def _made_and_locked(project_id: uuid.UUID, name: str) -> Thread:
    thread = rows.lock_thread(project_id, name)
    if thread is None:
        refuse_dots(thread=name)
        rows.make_thread(project_id, name, now())
        thread = rows.lock_thread(project_id, name)
    if thread is None:  # Another one made it and deleted it in between.
        raise StaleRead
    return thread


def open_copy(*, caller: Caller, project_id: uuid.UUID, source: str, target: str) -> tuple[Thread, Thread]:
    """Both threads, locked by name, so that two copies cannot wait for each other. Raises ThreadNotFound."""
    check_project(caller=caller, project_id=project_id)
    found = {
        name: _made_and_locked(project_id, name) if name == target else rows.lock_thread(project_id, name)
        for name in sorted({source, target})
    }
    from_thread, to_thread = found[source], found[target]
    if from_thread is None or to_thread is None:
        raise ThreadNotFound
    return from_thread, to_thread


def find_locked(*, caller: Caller, project_id: uuid.UUID, name: str) -> Thread | None:
    """The thread, locked until the commit, if there is one."""
    check_project(caller=caller, project_id=project_id)
    return rows.lock_thread(project_id, name)


def take_room(project_id: uuid.UUID, thread: Thread, growth: int) -> None:
    """Count the growth of a thread, negative if it shrank. Raises CheckpointsFull."""
    execute_together([rows.grow_thread(thread, growth, now())])
    count_bytes(project_id, growth)


def check_room(project_id: uuid.UUID, growth: int) -> None:
    """Raises CheckpointsFull, if so much more has no room now."""
    stored = fetch_row("SELECT checkpoint_bytes FROM memory_app_memorystore WHERE project_id = %s", [db_uuid(project_id)])
    _refuse_full(0 if stored is None else stored[0], growth)


def _refuse_full(size_bytes: int, growth: int) -> None:
    if growth > 0 and size_bytes + growth > settings.CHECKPOINT_BYTES:
        raise CheckpointsFull(details={"size_bytes": size_bytes, "limit": settings.CHECKPOINT_BYTES, "needed": growth})


def count_bytes(project_id: uuid.UUID, growth: int) -> None:
    """The last statement of a write: from here on others wait for the row of the project's memory."""
    if not growth:
        return
    stored = fetch_row(*rows.grow_store(project_id, growth))
    if stored is None:
        MemoryStore.objects.bulk_create([MemoryStore(project_id=project_id)], ignore_conflicts=True)
        stored = fetch_row(*rows.grow_store(project_id, growth))
    _refuse_full(stored[0] - growth, growth)


def give_room(project_id: uuid.UUID, thread: Thread, freed: int) -> None:
    """After rows of so many bytes were erased. `thread`: as it was locked."""
    take_room(project_id, thread, -min(freed, thread.size_bytes))  # A count below 0 would be refused by the database.
