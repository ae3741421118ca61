"""Runs of agents: start, heartbeat, takeover, end."""

import uuid
from dataclasses import dataclass
from typing import Any

from memory_app.models import MemoryStore, Run
from memory_app.models.run import AGENT_LENGTH
from memory_app.services.entries import NewEntry, check_entry, store_entry
from memory_app.services.lease import LEASE, free, get_run, grant, holder_json, lock_for_writing, lock_store
from sessions_app import events
from sessions_app.errors import Gone, Invalid
from sessions_app.queries.shared import Caller, EventType, now
from sessions_app.services.projects import count_run
from sessions_app.services.writing import write


class RunEnded(Gone):
    code, message = "run_ended", "This run has ended. Start another one."


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as its agent needs to know it."""

    run: Run
    store: MemoryStore

    def as_json(self) -> dict[str, Any]:
        is_writer = self.run.ended_at is None and self.store.holder_id == self.run.id
        return {
            "run_id": str(self.run.id),
            "mode": "writer" if is_writer else "reader",
            "fence": self.store.fence,
            "holder": holder_json(self.store),
            "session_count": self.run.number,
        }


def start_run(*, caller: Caller, project_id: uuid.UUID, agent: str = "") -> RunState:
    """Count a run; it becomes the writer where nobody is."""
    if len(agent) > AGENT_LENGTH:
        raise Invalid(f"An agent's name has at most {AGENT_LENGTH} characters.", details={"field": "agent"})

    def work() -> RunState:
        store = lock_store(caller=caller, project_id=project_id)
        run = Run(project_id=project_id, agent=agent, number=count_run(project_id=project_id))
        run.save(force_insert=True)
        if store.holder_at(now()) is None:
            grant(store, run)
            run.save(update_fields=["fence"])
            _tell(caller, store, run)
        return RunState(run, store)

    return write(work)


def heartbeat(*, caller: Caller, project_id: uuid.UUID, run_id: uuid.UUID) -> RunState:
    """The run is alive; as the writer it keeps the lease for another 30 seconds."""

    def work() -> RunState:
        store, run = _own(caller, project_id, run_id)
        run.last_seen_at = now()
        run.save(update_fields=["last_seen_at"])
        if store.holder_id == run.id:
            store.lease_expires_at = now() + LEASE
            store.save(update_fields=["lease_expires_at"])
        return RunState(run, store)

    return write(work)


def take_over(*, caller: Caller, project_id: uuid.UUID, run_id: uuid.UUID) -> RunState:
    """Make the run the writer, whoever was: the fence rises, and the former holder writes no more."""

    def work() -> RunState:
        store, run = _own(caller, project_id, run_id)
        run.last_seen_at = now()
        grant(store, run)
        run.save(update_fields=["fence", "last_seen_at"])
        _tell(caller, store, run)
        return RunState(run, store)

    return write(work)


def free_lease(*, caller: Caller, project_id: uuid.UUID) -> Run | None:
    """Take the lease from whoever holds it, so that the next run gets it; answers who that was. That run goes on, reading."""

    def work() -> Run | None:
        store = lock_store(caller=caller, project_id=project_id)
        holder = store.holder_at(now())
        if holder is not None:
            free(store)
            _tell(caller, store, holder)
        return holder

    return write(work)


def end_run(
    *, caller: Caller, project_id: uuid.UUID, run_id: uuid.UUID, entries: list[NewEntry]
) -> tuple[RunState, dict[str, int]]:
    """Write what the agent still holds and free the lease, in one transaction. Ending twice changes nothing."""
    checked = [check_entry(entry) for entry in entries]

    def work() -> tuple[RunState, dict[str, int]]:
        store = lock_store(caller=caller, project_id=project_id)
        run = get_run(project_id=project_id, run_id=run_id)
        if run.ended_at is not None:
            return RunState(run, store), {}
        if checked:
            store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id)
        for entry in checked:
            store_entry(caller=caller, store=store, entry=entry)
        run.ended_at = run.last_seen_at = now()
        run.save(update_fields=["ended_at", "last_seen_at"])
        if store.holder_id == run.id:
            free(store)
            _tell(caller, store, run)
        return RunState(run, store), _counted([entry.redacted for entry in checked])

    return write(work)


def _counted(many: list[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in many:
        for kind, count in counts.items():
            total[kind] = total.get(kind, 0) + count
    return total


def _own(caller: Caller, project_id: uuid.UUID, run_id: uuid.UUID) -> tuple[MemoryStore, Run]:
    store = lock_store(caller=caller, project_id=project_id)
    run = get_run(project_id=project_id, run_id=run_id)
    if run.ended_at is not None:
        raise RunEnded
    return store, run


def _tell(caller: Caller, store: MemoryStore, run: Run) -> None:
    data = {"run": str(run.id), "fence": store.fence, "held": store.holder_id is not None}
    events.publish(project_id=store.project_id, type=EventType.LEASE_CHANGED, caller=caller, data=data)
