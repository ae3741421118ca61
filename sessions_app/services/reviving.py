"""Bringing messages back into the present epoch, wherever they were taken out."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from sessions_app.models import Message
from sessions_app.models.message import MESSAGE_ID_LENGTH, Removal
from sessions_app.services.locking import LockedSession


@dataclass(slots=True)
class Revived:
    count: int = 0
    renamed: list[dict[str, str]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)


def revive(session: LockedSession, messages: list[Message], at: datetime) -> Revived:
    """Live again in the present epoch under `session.rev`, written by nobody; a taken id is replaced by a new one.

    Positions stay: they grow through all epochs, so older messages come to stand before newer ones by themselves.
    Changes the session's counters, but does not store them.
    """
    wanted = [message.message_id for message in messages]
    others = Message.objects.filter(session_id=session.id, epoch=session.epoch).exclude(pk__in=[m.pk for m in messages])
    taken = set(others.filter(message_id__in=wanted).values_list("message_id", flat=True)) if wanted else set()
    revived = Revived(len(messages), messages=messages)
    for message in messages:
        if message.message_id in taken:
            fresh = free_id(session, message.message_id, message.epoch, taken)
            revived.renamed.append({"from": message.message_id, "to": fresh})
            message.message_id = fresh
        taken.add(message.message_id)
        message.epoch, message.rev, message.removed = session.epoch, session.rev, Removal.NONE
        message.writer_id, message.writer_seq, message.updated_at = None, 0, at
        session.message_count += 1
        session.size_bytes += message.size_bytes
    fields = ["message_id", "epoch", "rev", "removed", "writer_id", "writer_seq", "updated_at"]
    Message.objects.bulk_update(messages, fields, batch_size=200)
    return revived


def free_id(session: LockedSession, message_id: str, epoch: int, taken: Collection[str] = ()) -> str:
    """The id itself where it is free in the present epoch, else with the epoch it came from, counted up."""
    for number in range(10_000):
        ending = ("", f"~{epoch}")[number] if number < 2 else f"~{epoch}.{number}"
        fresh = message_id[: MESSAGE_ID_LENGTH - len(ending)] + ending
        if (
            fresh not in taken
            and not Message.objects.filter(session_id=session.id, epoch=session.epoch, message_id=fresh).exists()
        ):
            return fresh
    raise AssertionError("ten thousand messages cannot share one id")
