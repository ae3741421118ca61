"""Runs of agents: start, heartbeat, takeover, end."""

import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from memory_app.core.lease import LEASE, LeaseHeld, free, get_run, grant, holder_json, lock_for_writing, lock_store
from memory_app.core.namespaces import check_new_names
from memory_app.errors.noise.filtering import read_rules
from memory_app.errors.services import Batch, NewError, make_batch, store_errors, total
from memory_app.key_value.entries.entry_values import CheckedEntry, NewEntry, check_entry
from memory_app.key_value.entries.services import store_entry
from memory_app.models import MemoryStore, Run
from memory_app.models.run import AGENT_LENGTH
from sessions_app.agents.states.ai_states import save_ai_state
from sessions_app.chats.locking import lock_session
from sessions_app.chats.reading.sessions import SessionNotFound
from sessions_app.core.errors import Gone, Invalid
from sessions_app.core.limits import quotas
from sessions_app.core.public_names import Caller, EventType, now
from sessions_app.core.redaction import Redacted
from sessions_app.core.storage.transactions import write
from sessions_app.events import event_log
from sessions_app.projects.queries import get_project
from sessions_app.projects.services import count_run


class RunEnded(Gone):
    code, message = "run_ended", "This run has ended. Start another one; nothing of this request was stored."


@dataclass(frozen=True, slots=True)
class RunState:
    """A run as its agent sees it."""

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


@dataclass(frozen=True, slots=True)
class HeldState:
    """The unsaved part of an AI's state; no session: the project's current one."""

    session_id: uuid.UUID | None
    ai_id: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Held:
    """An agent's unsaved data at its end. `sha256`: of the request, equal in a retry."""

    entries: list[NewEntry] = field(default_factory=list)
    errors: list[NewError] = field(default_factory=list)
    ai_states: list[HeldState] = field(default_factory=list)
    sha256: str = ""

    def __bool__(self) -> bool:
        return bool(self.entries or self.errors or self.ai_states)


@dataclass(frozen=True, slots=True)
class Ended:
    """The run after its end, and what was stored of its unsaved data."""

    state: RunState
    recorded: int = 0
    filtered: int = 0
    redacted: Redacted = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return self.state.as_json() | {"recorded": self.recorded, "filtered": self.filtered, "redacted": self.redacted}


def start_run(*, caller: Caller, project_id: uuid.UUID, agent: str = "") -> RunState:
    """Count a run; it becomes the writer if there is none."""
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
    """The run is alive; as the writer it keeps the lease for another `LEASE`."""

    def work() -> RunState:
        store, run = _own(caller, project_id, run_id)
        run.last_seen_at = now()
        run.save(update_fields=["last_seen_at"])
        if store.holder_id == run.id:
            store.lease_expires_at = now() + LEASE
            store.save(update_fields=["lease_expires_at"])
        return RunState(run, store)

    return write(work)


def take_over(
    *, caller: Caller, project_id: uuid.UUID, run_id: uuid.UUID, only_from: Collection[uuid.UUID] | None = None
) -> RunState:
    """Make the run the writer in any case: the fence rises, and the former holder can no longer write.

    `only_from`, of an Undo: the runs that may lose the lease by it; if another one holds it by now, LeaseHeld.
    """

    def work() -> RunState:
        store, run = _own(caller, project_id, run_id)
        holder = store.holder_at(now())
        if only_from is not None and holder is not None and holder.id not in only_from:
            raise LeaseHeld(holder_json(store))
        run.last_seen_at = now()
        grant(store, run)
        run.save(update_fields=["fence", "last_seen_at"])
        _tell(caller, store, run)
        return RunState(run, store)

    return write(work)


def free_lease(*, caller: Caller, project_id: uuid.UUID) -> Run | None:
    """Free the lease, so that the next run gets it; returns the former holder, which continues read-only."""

    def work() -> Run | None:
        store = lock_store(caller=caller, project_id=project_id)
        holder = store.holder_at(now())
        if holder is not None:
            free(store)
            _tell(caller, store, holder)
        return holder

    return write(work)


def end_run(*, caller: Caller, project_id: uuid.UUID, run_id: uuid.UUID, held: Held) -> Ended:
    """Write the agent's unsaved data and free the lease, in one transaction. The same again, or an end without data, changes
    nothing; other data of a run that has ended is refused: RunEnded.

    Writes to memory need the lease, except in namespaces with `leased: false`; an AI's state in a chat does not.
    """
    entries = [_checked(entry) for entry in held.entries]
    config = next((entry.text for entry in entries if (entry.namespace, entry.key) == ("noise", "config")), None)
    errors = make_batch(project_id, held.errors, None if config is None else read_rules(config))

    def work() -> Ended:
        sessions = _lock_sessions(caller, project_id, held.ai_states)
        store = lock_store(caller=caller, project_id=project_id)
        run = get_run(project_id=project_id, run_id=run_id)
        if run.ended_at is not None:
            if held and held.sha256 != run.end_sha256:
                raise RunEnded
            return Ended(RunState(run, store))
        if entries or errors.errors:
            touched = None if errors.errors else [(entry.namespace, False) for entry in entries]
            store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id, touched=touched)
            _check_room(caller, entries, errors)
        redacted = [store_entry(caller=caller, store=store, entry=entry).redacted for entry in entries]
        recorded = store_errors(caller=caller, store=store, batch=errors, run_id=run_id)
        redacted += _save_ai_states(caller, sessions, held.ai_states)
        _end(caller, store, run, held.sha256)
        return Ended(RunState(run, store), recorded.recorded, recorded.filtered, total([*redacted, recorded.redacted]))

    return write(work)


def _save_ai_states(caller: Caller, sessions: list[uuid.UUID], states: list[HeldState]) -> Iterator[Redacted]:
    for session_id, state in zip(sessions, states, strict=True):
        _, _, taken_out = save_ai_state(caller=caller, session_id=session_id, ai_id=state.ai_id, fields=state.fields, keep=True)
        yield taken_out


def _end(caller: Caller, store: MemoryStore, run: Run, sha256: str) -> None:
    run.ended_at = run.last_seen_at = now()
    run.end_sha256 = sha256
    run.save(update_fields=["ended_at", "end_sha256", "last_seen_at"])
    if store.holder_id == run.id:
        free(store)
        _tell(caller, store, run)


def _checked(entry: NewEntry) -> CheckedEntry:
    check_new_names(entry.namespace, entry.key)
    return check_entry(entry)


def _check_room(caller: Caller, entries: list[CheckedEntry], errors: Batch) -> None:
    """The request itself is taken from a full account too, because it ends the run. Raises QuotaExceeded."""
    held = [entry.text for entry in entries] + [text for error in errors.errors for text in (error.message, error.stack)]
    quotas.check_bytes(caller.user_id, sum(len(text.encode()) for text in held))


def _lock_sessions(caller: Caller, project_id: uuid.UUID, states: list[HeldState]) -> list[uuid.UUID]:
    """The session of each state, the current one if none is named. Locked in id order, and before the memory."""
    current = get_project(caller=caller, project_id=project_id).current_session_id
    named = [state.session_id or current for state in states]
    for session_id in sorted({session_id for session_id in named if session_id is not None}):
        if lock_session(caller=caller, session_id=session_id).project_id != project_id:
            raise SessionNotFound
    found = [session_id for session_id in named if session_id is not None]
    if len(found) < len(named):
        raise Invalid("The project has no current session. Name one in `session`.", details={"field": "ai_states"})
    return found


def _own(caller: Caller, project_id: uuid.UUID, run_id: uuid.UUID) -> tuple[MemoryStore, Run]:
    store = lock_store(caller=caller, project_id=project_id)
    run = get_run(project_id=project_id, run_id=run_id)
    if run.ended_at is not None:
        raise RunEnded
    return store, run


def _tell(caller: Caller, store: MemoryStore, run: Run) -> None:
    data = {"run": str(run.id), "fence": store.fence, "held": store.holder_id is not None}
    event_log.publish(project_id=store.project_id, type=EventType.LEASE_CHANGED, caller=caller, data=data)
