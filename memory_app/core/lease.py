"""Who may write a project's memory: its row is the lock, the lease names the writer.

Only the server's clock (`now`) counts, never a client's.
"""

import uuid
from collections.abc import Iterable
from datetime import timedelta
from enum import Enum
from functools import cache
from typing import Any, cast

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.db.models import F

from memory_app.models import MemoryStore, Run
from sessions_app.core.errors import Locked, NotFound
from sessions_app.core.public_names import Caller, now
from sessions_app.core.storage.sql import as_time, as_uuid, db_uuid, fetch_row, on_postgresql
from sessions_app.core.storage.transactions import write
from sessions_app.projects.queries import check_project

# In the order of the model's fields.
_READ = ["project_id", "rev", "size_bytes", "checkpoint_bytes", "has_settings", "fence", "holder_id", "lease_expires_at"]
_SELECT = f"SELECT {', '.join(_READ)} FROM memory_app_memorystore WHERE project_id = %s"  # noqa: S608 - constants only
LEASE = timedelta(seconds=settings.LEASE_SECONDS)


class By(Enum):
    """A person edits on a page: this overrides any lease, and the page shows whose."""

    PERSON = "person"


# The origin of a memory write: a run, a person, or neither.
type Writer = uuid.UUID | By | None


class RunNotFound(NotFound):
    kind, message = "run", "This project has no run with this id. Start one, and use its `run_id`."


class LeaseHeld(Locked):
    """Another run is the writer."""

    code = "lease_held"

    def __init__(self, holder: dict[str, Any] | None) -> None:
        super().__init__(
            "Another run holds the writer's lease. Name it in `Stillhere-Run` if you are that run, wait, or take over.",
            details={"holder": holder},
        )


class LeaseLost(Locked):
    code = "lease_lost"
    message = "This run has lost the lease. Read again, then take over or start another run."


def lock_store(*, caller: Caller, project_id: uuid.UUID) -> MemoryStore:
    """The project's memory, created at its first use, locked until the commit. Unknown → 404; in the trash → 410.

    This lock is taken before the project's row, which events lock last.
    """
    check_project(caller=caller, project_id=project_id)
    found = _locked(project_id)
    if found is None:
        MemoryStore.objects.bulk_create([MemoryStore(project_id=project_id)], ignore_conflicts=True)
        found = cast(MemoryStore, _locked(project_id))
    return found


def _locked(project_id: uuid.UUID) -> MemoryStore | None:
    """By plain SQL, because every write asks for it. Other fields, and the holder, are read when they are needed."""
    row = fetch_row(_lock(), [db_uuid(project_id)])
    if row is None:
        return None
    _, *counters, has_settings, fence, holder, expires_at = row
    values = [project_id, *counters, bool(has_settings), fence, as_uuid(holder), as_time(expires_at)]
    return MemoryStore.from_db(DEFAULT_DB_ALIAS, _READ, values)


@cache
def _lock() -> str:
    return f"{_SELECT} FOR NO KEY UPDATE" if on_postgresql() else _SELECT


def lock_for_writing(
    *, caller: Caller, project_id: uuid.UUID, run_id: Writer, touched: Iterable[tuple[str, bool]] | None = None
) -> MemoryStore:
    """The same, for a write of memory: 423 while another run holds the lease, or if this one has lost it.

    `touched`: the namespaces that are written, each alone or with all beneath it, if nothing else is: where their settings say
    `leased: false`, no lease is needed.
    """
    store = lock_store(caller=caller, project_id=project_id)
    if run_id is By.PERSON or (run_id is not None and run_id == store.holder_id):
        return store
    if touched is not None and not any(store.rules.need_lease(namespace, deep=deep) for namespace, deep in touched):
        return store
    run = None if run_id is None else get_run(project_id=project_id, run_id=run_id)
    if run is not None and (run.ended_at is not None or run.fence is not None):
        raise LeaseLost(details={"holder": holder_json(store)})
    if store.holder_at(now()) is not None:
        raise LeaseHeld(holder_json(store))
    return store


def get_run(*, project_id: uuid.UUID, run_id: uuid.UUID) -> Run:
    run = Run.objects.filter(project_id=project_id, id=run_id).first()
    if run is None:
        raise RunNotFound
    return run


def grant(store: MemoryStore, run: Run) -> None:
    """Make `run` the writer under a new fence."""
    store.fence += 1
    store.holder, store.lease_expires_at = run, now() + LEASE
    run.fence = store.fence
    store.save(update_fields=["fence", "holder", "lease_expires_at"])


def free(store: MemoryStore) -> None:
    """Release the lease. The fence stays: the former holder has lost the lease."""
    store.holder, store.lease_expires_at = None, None
    store.save(update_fields=["holder", "lease_expires_at"])


def holder_json(store: MemoryStore) -> dict[str, Any] | None:
    """The holder of the lease, and its fence."""
    holder = store.holder_at(now())
    if holder is None:
        return None
    return {"run_id": str(holder.id), "agent": holder.agent, "number": holder.number, "fence": store.fence}


def end_all_leases() -> None:
    """After a restore the holders since the backup are unknown: end all leases and raise the fences."""
    write(lambda: MemoryStore.objects.update(fence=F("fence") + 1, holder=None, lease_expires_at=None))
