"""Clearing a session, and undoing a clear."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sessions_app.chats.lifecycle.message_restore import take_up
from sessions_app.chats.lifecycle.removed_queries import RESTORABLE_FOR
from sessions_app.chats.lifecycle.restore_and_conflicts import take_in_late_text
from sessions_app.chats.locking import LockedSession
from sessions_app.chats.saving.idempotency import Step, once
from sessions_app.chats.saving.receipts import Answer
from sessions_app.chats.session_cap import drop_oldest
from sessions_app.core.errors import Conflict, Gone
from sessions_app.core.storage.sql import rfc3339
from sessions_app.models import Caller, Clearing
from sessions_app.models.event import EventType
from sessions_app.models.live import Live
from sessions_app.models.times import now


class NothingToRestore(Conflict):
    code, message = "nothing_to_restore", "There is no cleared chat to restore, or it was restored already."


class ClearedIsPurged(Gone):
    code, message = "purged", "The cleared messages were erased after 30 days and cannot be restored."


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo(Step):
    """`of`: the epoch that was cleared; None means the last one."""

    of: int | None = None


def clear_session(*, caller: Caller, session_id: uuid.UUID, step: Step) -> Answer:
    """Begin a new epoch with an empty window and opening step; the old content can be restored for 30 days."""

    def act(session: LockedSession) -> dict[str, Any]:
        at, cleared, prev_rev, count = now(), session.epoch, session.rev, session.message_count
        begin_epoch(session, at)
        session.publish(EventType.SESSION_CLEARED, caller, writer_id=step.writer_id, data={"of": cleared})
        return {"prev_rev": prev_rev, "saved_at": rfc3339(at), "of": cleared, "cleared": count}

    return once(caller=caller, session_id=session_id, step=step, act=act)


def begin_epoch(session: LockedSession, at: datetime) -> None:
    """Begin the next, empty epoch; keep what an undo needs of the previous one."""
    Clearing.objects.create(
        session_id=session.id,
        epoch=session.epoch,
        filed_under=session.live.epoch,
        opening_step=session.opening_step,
        head=session.head,
        message_count=session.message_count,
        size_bytes=session.size_bytes,
        cleared_at=at,
    )
    session.epoch += 1
    session.live = Live(session.epoch)
    session.head = None
    session.rev += 1
    session.message_count = session.size_bytes = 0
    session.opening_step = ""
    session.write()
    session.store_epoch()


def undo_clear(*, caller: Caller, session_id: uuid.UUID, undo: Undo) -> Answer:
    """Restore a cleared epoch's messages to the current one, before the messages written since; they have no writer.

    A message whose id is taken by now gets a new id. An answer that went on after the clear gets its late text.
    The cost depends on the smaller of the two epochs. Raises NothingToRestore, ClearedIsPurged.
    """

    def act(session: LockedSession) -> dict[str, Any]:
        at, prev_rev = now(), session.rev
        clearing = _find(session, undo.of)
        session.rev += 1
        revived = take_up(session, clearing, at)
        take_in_late_text(session)
        dropped = drop_oldest(session)
        session.opening_step = session.opening_step or clearing.opening_step
        session.write()
        session.store_epoch()
        clearing.undone_at = at
        clearing.save(update_fields=["undone_at"])
        session.publish(EventType.SESSION_UPDATED, caller, writer_id=undo.writer_id, data={"undone": clearing.epoch})
        restored = {"restored": revived.count, "renamed": revived.renamed, "dropped": dropped}
        return {"prev_rev": prev_rev, "saved_at": rfc3339(at), "of": clearing.epoch, **restored}

    return once(caller=caller, session_id=session_id, step=undo, act=act)


def _find(session: LockedSession, of: int | None) -> Clearing:
    clearings = Clearing.objects.filter(session_id=session.id, undone_at=None).order_by("-epoch")
    found = (clearings.filter(purged_at=None) if of is None else clearings.filter(epoch=of)).first()
    if found is None:
        raise NothingToRestore
    if found.purged_at is not None or found.cleared_at < now() - RESTORABLE_FOR:
        raise ClearedIsPurged
    return found
