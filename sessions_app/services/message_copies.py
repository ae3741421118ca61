"""A session's live messages in another session: under their ids where these are free, else as conflict copies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import batched
from typing import Any

from django.db.models import QuerySet

from sessions_app.models import ConflictCopy, Message
from sessions_app.models.message import Status
from sessions_app.models.sql import now
from sessions_app.services.capping import drop_oldest
from sessions_app.services.copies import Copies, content_of
from sessions_app.services.locking import LockedSession

BATCH = 500
Reason = ConflictCopy.Reason


@dataclass(slots=True)
class Copied:
    """How many were added, stood there already, became conflict copies; how many old ones the hard cap then dropped."""

    added: int = 0
    same: int = 0
    conflicts: int = 0
    dropped: int = 0


def copy_messages(rows: "QuerySet[Message]", target: LockedSession, *, writer_id: str | None = None) -> Copied:
    """After what the target has, in their order, written by nobody; what was streaming is interrupted there.

    Changes the target's counters, but does not store them.
    """
    copied, rev, at = Copied(), target.rev + 1, now()
    copies = Copies(session_id=target.id, epoch=target.epoch, writer_id=writer_id)
    found: Iterator[Any] = rows.order_by("position").values().iterator(chunk_size=BATCH)
    for batch in batched(found, BATCH):
        standing = _standing(target, batch)
        fresh = []
        for values in batch:
            if values["status"] == Status.STREAMING:
                values["status"] = Status.INTERRUPTED.value
            if (there := standing.get(values["message_id"])) is not None:
                _keep_beside(there, Message(**values), copies, copied)
                continue
            copied.added += 1
            target.message_count += 1
            target.last_position += 1
            target.size_bytes += values["size_bytes"]
            values |= {"id": None, "session_id": target.id, "epoch": target.epoch, "position": target.last_position}
            values |= {"ver": 1, "rev": rev, "writer_id": None, "writer_seq": 0, "updated_at": at}
            fresh.append(Message(**values))
        Message.objects.bulk_create(fresh)
    if copied.added:
        target.rev = rev
        copied.dropped = len(drop_oldest(target))
    return copied


def _standing(target: LockedSession, batch: Iterable[dict[str, Any]]) -> dict[str, Message]:
    """The target's messages under these ids, live or taken out."""
    if not target.last_position:
        return {}
    wanted = [values["message_id"] for values in batch]
    rows = Message.objects.filter(session_id=target.id, epoch=target.epoch, message_id__in=wanted)
    return {row.message_id: row for row in rows}


def _keep_beside(there: Message, message: Message, copies: Copies, copied: Copied) -> None:
    """The id is taken: what stands there stays, and the words that it does not hold are kept as a conflict copy."""
    sent = content_of(message)
    if not there.removed and content_of(there).holds(sent):
        copied.same += 1
    else:
        copies.keep(message.message_id, sent, Reason.REMOVED if there.removed else Reason.CONFLICT)
        copied.conflicts += 1
