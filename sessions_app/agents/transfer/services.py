"""Transfers from one session to another: states, messages and opening step; copied or moved."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sessions_app.agents.transfer.execution import Choice, TransferExecution
from sessions_app.chats.locking import LockedSession, lock_project_and_current, lock_session
from sessions_app.chats.reading.sessions import SessionNotFound, SessionRow, get_session
from sessions_app.chats.saving import receipts
from sessions_app.chats.saving.idempotency import answer, stale
from sessions_app.chats.saving.receipts import Answer, Request
from sessions_app.chats.sessions.services import NewSession, create_in
from sessions_app.core.errors import Invalid, NotFound
from sessions_app.core.storage.transactions import write
from sessions_app.models import Caller, ChatSession, Project
from sessions_app.projects.queries import find_project


class WhereTo(Invalid):
    message = "Name one target: `to_session`, another session of yours, or `to_project`, the path of a project of yours."


class NoTarget(NotFound):
    message = "You have no such session or project. Check `to_session` and `to_project`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """To a session, or into a new one of the project at a path. `epoch`: the expected epoch of the source (None: any).

    `request`: identifies the request, so that a retry is idempotent. `current`: whether a new session becomes the current one.
    `dry_run`: only report what would happen.
    """

    to_session: uuid.UUID | None = None
    to_project: str | None = None
    choice: Choice = field(default_factory=Choice)
    epoch: int | None = None
    request: Request | None = None
    current: bool = True
    dry_run: bool = False


class _Rehearsed(Exception):
    """Rolls back a dry run and carries its response out of the transaction."""

    def __init__(self, result: Answer) -> None:
        self.result = result
        super().__init__()


def transfer(*, caller: Caller, session_id: uuid.UUID, wanted: Transfer) -> Answer:
    """Returns 200 (201 with a new session) or 409 `stale_epoch`. Raises NotFound, Gone, WhereTo, and the execution's errors."""
    if (wanted.to_session is None) == (wanted.to_project is None) or wanted.to_session == session_id:
        raise WhereTo(details={"fields": ["to_session", "to_project"]})

    def work() -> Answer:
        row = get_session(caller=caller, session_id=session_id)
        if (answered := _answered(wanted)) is not None:  # Before the target is read, because it may be deleted by now.
            return answered
        source, find_target = _lock(caller, row, wanted)
        if (answered := _answered(wanted)) is not None:
            return answered
        if wanted.epoch is not None and wanted.epoch != source.epoch:
            return _keep(wanted, stale(source, wanted.epoch))
        result = _carry(caller, source, find_target(), wanted)
        if wanted.dry_run:
            raise _Rehearsed(result)
        return _keep(wanted, result)

    try:
        return write(work)
    except _Rehearsed as rehearsed:
        return rehearsed.result


def _answered(wanted: Transfer) -> Answer | None:
    return None if wanted.request is None else receipts.find(wanted.request)


def _keep(wanted: Transfer, result: Answer) -> Answer:
    return result if wanted.request is None else receipts.keep(wanted.request, result)


def _lock(caller: Caller, row: SessionRow, wanted: Transfer) -> tuple[LockedSession, Callable[[], LockedSession]]:
    """Locks everything in lock order; returns the source and how to get the target."""
    if wanted.to_session is not None:
        locked = {chosen: _lock_either(caller, chosen, row.id) for chosen in sorted((row.id, wanted.to_session))}
        target = locked[wanted.to_session]
        return locked[row.id], lambda: target
    project = find_project(caller=caller, path=wanted.to_project or "")
    if project is None:
        raise NoTarget
    lock_project_and_current(caller=caller, project_id=project.id, also=row.id, also_project=row.project_id)
    return lock_session(caller=caller, session_id=row.id), lambda: _new_session(caller, project, row, wanted)


def _lock_either(caller: Caller, session_id: uuid.UUID, source_id: uuid.UUID) -> LockedSession:
    try:
        return lock_session(caller=caller, session_id=session_id)
    except SessionNotFound:
        raise SessionNotFound if session_id == source_id else NoTarget from None


def _new_session(caller: Caller, project: Project, row: SessionRow, wanted: Transfer) -> LockedSession:
    new = NewSession(row.title, current=wanted.current)
    made = create_in(caller=caller, project_id=project.id, session_id=uuid.uuid4(), new=new)
    return lock_session(caller=caller, session_id=made.id)


def _carry(caller: Caller, source: LockedSession, target: LockedSession, wanted: Transfer) -> Answer:
    made, prev_rev = wanted.to_project is not None, source.rev
    # A new session replaces the current one; if that is the source, its rev has increased.
    source.rev = ChatSession.objects.values_list("rev", flat=True).get(id=source.id)
    writer_id = None if wanted.request is None else wanted.request.writer_id
    carrying = TransferExecution(
        caller=caller, source=source, target=target, choice=wanted.choice, writer_id=writer_id, previews=wanted.dry_run
    )
    carrying.run()
    place = None if made and wanted.dry_run else str(target.id)
    lists = {"carried": carrying.carried, "replaced": carrying.replaced}
    result = answer(source, prev_rev=prev_rev, to_session=place, dry_run=wanted.dry_run, **lists)
    return replace(result, status=201) if made and not wanted.dry_run else result
