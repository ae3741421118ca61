"""Removed messages that can still be restored, and open conflict copies."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db.models import Count, Q, QuerySet

from sessions_app.core.storage.sql import rfc3339
from sessions_app.models import Clearing, ConflictCopy, Message
from sessions_app.models.live import Live
from sessions_app.models.times import now

RESTORABLE_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Cleared:
    """What a clear removed: `epoch` is the `of` that restores it, until `until`."""

    epoch: int
    message_count: int
    at: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class RemovedPage:
    items: list[dict[str, Any]]
    next: str | None


def restorable(*, session_id: uuid.UUID, epoch: int) -> QuerySet[Message]:
    """Removed messages with content; the tombstone of an unknown id has none."""
    out = ~Q(removed="") | ~Q(epoch=epoch)
    empty = Q(text="", parts=None, metadata=None, raw=None)
    return Message.objects.filter(out, session_id=session_id).exclude(empty)


def list_removed(*, session_id: uuid.UUID, epoch: int, before: int | None, limit: int) -> RemovedPage:
    """Newest first, in the order in which they were written."""
    rows = restorable(session_id=session_id, epoch=epoch).filter(updated_at__gte=now() - RESTORABLE_FOR)
    clearings = Clearing.objects.filter(session_id=session_id, undone_at=None)
    cleared = {clearing.messages_epoch: clearing.cleared_at for clearing in clearings}
    rows = rows | restorable(session_id=session_id, epoch=epoch).filter(epoch__in=[e for e, at in cleared.items() if _recent(at)])
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows.order_by("-pk")[: limit + 1])
    following = str(found[limit - 1].pk) if len(found) > limit else None
    return RemovedPage([_shape(message, cleared) for message in found[:limit]], following)


def was_here(*, session_id: uuid.UUID, live: Live, message_id: str) -> bool:
    """Whether the session has such a message, also a removed or cleared one that is not erased yet."""
    epochs = [live.epoch, *(clearing.messages_epoch for clearing in Clearing.objects.filter(session_id=session_id))]
    return Message.objects.filter(session_id=session_id, epoch__in=epochs, message_id=message_id).exists()


def last_cleared(session_id: uuid.UUID) -> Cleared | None:
    """Of the last clear of messages that can be undone."""
    clearings = Clearing.objects.filter(session_id=session_id, undone_at=None, purged_at=None, message_count__gt=0)
    last = clearings.filter(cleared_at__gte=now() - RESTORABLE_FOR).order_by("-epoch").first()
    if last is None:
        return None
    return Cleared(last.epoch, last.message_count, last.cleared_at, last.cleared_at + RESTORABLE_FOR)


def list_conflicts(*, session_id: uuid.UUID, after: tuple[datetime, uuid.UUID] | None, limit: int) -> list[ConflictCopy]:
    """Up to `limit + 1` open copies, oldest first."""
    copies = ConflictCopy.objects.filter(session_id=session_id, settled_at=None)
    if after is not None:
        at, copy_id = after
        copies = copies.filter(Q(created_at__gt=at) | Q(created_at=at, id__gt=copy_id))
    return list(copies.order_by("created_at", "id")[: limit + 1])


def count_conflicts(session_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Open copies, of the sessions that have some."""
    copies = ConflictCopy.objects.filter(session_id__in=session_ids, settled_at=None)
    return dict(copies.values_list("session_id").annotate(count=Count("id")).order_by())


def live_among(*, session_id: uuid.UUID, live: Live, message_ids: set[str]) -> dict[str, bool]:
    """Those that are live messages, and whether each is on the path that is shown."""
    rows = Message.objects.filter(session_id=session_id, epoch=live.epoch, removed="", message_id__in=message_ids)
    return {message_id: not aside for message_id, aside in rows.values_list("message_id", "aside")}


def _recent(at: datetime) -> bool:
    return at >= now() - RESTORABLE_FOR


def _shape(message: Message, cleared: dict[int, datetime]) -> dict[str, Any]:
    removed_at = cleared.get(message.epoch, message.updated_at) if not message.removed else message.updated_at
    return {
        **_content(message),
        "epoch": message.epoch,
        "position": message.position,
        "reason": message.removed or "cleared",
        "removed_at": rfc3339(removed_at),
    }


def conflict_json(copy: ConflictCopy) -> dict[str, Any]:
    return {
        "copy_id": str(copy.id),
        **_content(copy),
        "epoch": copy.epoch,
        "reason": copy.reason,
        "writer_id": copy.writer_id,
        "created_at": rfc3339(copy.created_at),
    }


def _content(row: Message | ConflictCopy) -> dict[str, Any]:
    """Content as shown for a message: absent fields stay absent."""
    parts = [{"type": "text", "text": row.text}] if row.parts is None else orjson.Fragment(row.parts)
    shape: dict[str, Any] = {"id": row.message_id, "role": row.role, "text": row.text, "parts": parts, "status": row.status}
    for name in ("metadata", "raw", "flagged"):
        if (stored := getattr(row, name)) is not None:
            shape[name] = orjson.Fragment(stored)
    for name in ("format", "parent_id"):
        if (value := getattr(row, name)) is not None:
            shape[name] = value or None if name == "parent_id" else value
    return shape
