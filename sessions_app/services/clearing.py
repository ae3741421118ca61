"""Starting over, and taking that back."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from sessions_app import events
from sessions_app.errors import Conflict, Gone
from sessions_app.models import Caller, Clearing, Message
from sessions_app.models.event import EventType
from sessions_app.models.message import Removal
from sessions_app.models.sql import now, rfc3339
from sessions_app.queries.removed import RESTORABLE_FOR
from sessions_app.services.capping import drop_oldest
from sessions_app.services.locking import LockedSession
from sessions_app.services.protocol import Step, answer, once
from sessions_app.services.receipts import Answer
from sessions_app.services.reviving import revive


class NothingToRestore(Conflict):
    code, message = "nothing_to_restore", "There is no cleared chat to bring back, or it was brought back already."


class ClearedIsPurged(Gone):
    code, message = "purged", "What was cleared was erased after 30 days and cannot be brought back."


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo(Step):
    """`of`: the epoch that was cleared; None means the last one."""

    of: int | None = None


def clear_session(*, caller: Caller, session_id: uuid.UUID, step: Step) -> Answer:
    """Begin a new epoch: the window and the opening step are empty, what was there can be brought back for 30 days."""

    def act(session: LockedSession) -> Answer:
        at, cleared, prev_rev, count = now(), session.epoch, session.rev, session.message_count
        begin_epoch(session, at)
        _tell(caller, EventType.SESSION_CLEARED, session, step, {"of": cleared})
        return answer(session, prev_rev=prev_rev, saved_at=rfc3339(at), of=cleared, cleared=count)

    return once(caller=caller, session_id=session_id, step=step, act=act)


def begin_epoch(session: LockedSession, at: datetime) -> None:
    """The next epoch, empty; what an undo needs of the former is kept."""
    Clearing.objects.create(
        session_id=session.id,
        epoch=session.epoch,
        opening_step=session.opening_step,
        message_count=session.message_count,
        size_bytes=session.size_bytes,
        cleared_at=at,
    )
    session.epoch += 1
    session.rev += 1
    session.message_count = session.size_bytes = 0
    session.opening_step = ""
    session.write()


def undo_clear(*, caller: Caller, session_id: uuid.UUID, undo: Undo) -> Answer:
    """Put a cleared epoch's messages into the present one, before what was written since; they count as nobody's.

    One whose id is taken by now gets a new id. Raises NothingToRestore, ClearedIsPurged.
    """

    def act(session: LockedSession) -> Answer:
        at, prev_rev = now(), session.rev
        clearing = _find(session, undo.of)
        messages = Message.objects.filter(session_id=session.id, epoch=clearing.epoch, removed=Removal.NONE)
        session.rev += 1
        revived = revive(session, messages, at)
        dropped = drop_oldest(session)
        session.opening_step = session.opening_step or clearing.opening_step
        session.write()
        clearing.undone_at = at
        clearing.save(update_fields=["undone_at"])
        _tell(caller, EventType.SESSION_UPDATED, session, undo, {"undone": clearing.epoch})
        body = {"of": clearing.epoch, "restored": revived.count, "renamed": revived.renamed, "dropped": dropped}
        return answer(session, prev_rev=prev_rev, saved_at=rfc3339(at), **body)

    return once(caller=caller, session_id=session_id, step=undo, act=act)


def _find(session: LockedSession, of: int | None) -> Clearing:
    clearings = Clearing.objects.filter(session_id=session.id, undone_at=None).order_by("-epoch")
    found = (clearings.filter(purged_at=None) if of is None else clearings.filter(epoch=of)).first()
    if found is None:
        raise NothingToRestore
    if found.purged_at is not None or found.cleared_at < now() - RESTORABLE_FOR:
        raise ClearedIsPurged
    return found


def _tell(caller: Caller, kind: EventType, session: LockedSession, step: Step, data: dict[str, int]) -> None:
    events.publish(
        project_id=session.project_id,
        type=kind,
        caller=caller,
        session_id=session.id,
        epoch=session.epoch,
        rev=session.rev,
        writer_id=step.writer_id,
        data=data,
    )
