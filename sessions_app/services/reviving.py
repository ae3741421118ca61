"""Bringing messages back into the present epoch, wherever they were taken out."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, QuerySet, Sum

from sessions_app.models import Message
from sessions_app.models.message import MESSAGE_ID_LENGTH, Removal
from sessions_app.services.locking import LockedSession


@dataclass(frozen=True, slots=True)
class Revived:
    """How many came back, and which of them under another id: `{from, to}`."""

    count: int
    renamed: list[dict[str, str]]


def revive(session: LockedSession, messages: QuerySet[Message], at: datetime) -> Revived:
    """Live again in the present epoch under `session.rev`, written by nobody; a taken id is replaced by a new one.

    Positions stay: they grow through all epochs, so older messages come to stand before newer ones by themselves.
    `messages`: rows of this session, none of them live; they are not read, so a long chat comes back at once. Changes the
    session's counters, but does not store them.
    """
    found = messages.aggregate(count=Count("pk"), size_bytes=Sum("size_bytes"))
    renamed = _make_way(session, messages)
    messages.update(epoch=session.epoch, rev=session.rev, removed=Removal.NONE, writer_id=None, writer_seq=0, updated_at=at)
    session.message_count += found["count"]
    session.size_bytes += found["size_bytes"] or 0
    return Revived(found["count"], renamed)


def _make_way(session: LockedSession, messages: QuerySet[Message]) -> list[dict[str, str]]:
    """New ids for those whose own is another message's by now."""
    others = Message.objects.filter(session_id=session.id, epoch=session.epoch, message_id=OuterRef("message_id"))
    clashing = messages.filter(Exists(others.exclude(pk=OuterRef("pk")))).order_by("position")
    renamed = []
    for pk, message_id, epoch in list(clashing.values_list("pk", "message_id", "epoch")):
        fresh = free_id(session, message_id, epoch)
        Message.objects.filter(pk=pk).update(message_id=fresh)
        renamed.append({"from": message_id, "to": fresh})
    return renamed


def free_id(session: LockedSession, message_id: str, epoch: int) -> str:
    """The id itself where it is free in the present epoch and in the one it came from, else with that epoch, counted up."""
    for number in range(10_000):
        ending = ("", f"~{epoch}")[number] if number < 2 else f"~{epoch}.{number}"
        fresh = message_id[: MESSAGE_ID_LENGTH - len(ending)] + ending
        if not Message.objects.filter(session_id=session.id, epoch__in={session.epoch, epoch}, message_id=fresh).exists():
            return fresh
    raise AssertionError("ten thousand messages cannot share one id")
