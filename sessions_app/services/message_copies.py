"""A session's live messages in another session: under their ids where these are free, else as conflict copies."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import batched

from django.db.models import Exists, OuterRef, Q, QuerySet

from sessions_app.models import ConflictCopy, Message
from sessions_app.models.message import Removal, Status
from sessions_app.models.project import FLAG, OFF
from sessions_app.models.sql import db_time, db_uuid, execute, fetch_row, now
from sessions_app.services.capping import drop_oldest
from sessions_app.services.copies import CONTENT, Copies, content_of, fill
from sessions_app.services.guarding import guard
from sessions_app.services.locking import LockedSession
from sessions_app.services.sent import Content

BATCH = 500
Reason = ConflictCopy.Reason
_CONTENT = "message_id, role, text, parts, metadata, format, raw, parent_id, flagged, size_bytes, created_at"
# One statement, so that a long session keeps nobody waiting for long.
_COPY = (
    f"INSERT INTO sessions_app_message ({_CONTENT}, status, session_id, epoch, position, rev, updated_at, "  # noqa: S608
    "ver, writer_seq, removed) "
    f"SELECT {_CONTENT}, CASE status WHEN '{Status.STREAMING.value}' THEN '{Status.INTERRUPTED.value}' ELSE status END, "
    "%s, %s, %s + ROW_NUMBER() OVER (ORDER BY position), %s, %s, 1, 0, '' FROM sessions_app_message "
    "WHERE session_id = %s AND epoch = %s AND removed = '' AND position <= %s AND message_id NOT IN ("
    "SELECT message_id FROM sessions_app_message WHERE session_id = %s AND epoch = %s)"
)
_COPIED = (
    "SELECT count(*), coalesce(sum(size_bytes), 0) FROM sessions_app_message WHERE session_id = %s AND rev = %s AND epoch = %s"
)


@dataclass(slots=True)
class Copied:
    """How many were added, stood there already, became conflict copies; how many old ones the hard cap then dropped."""

    added: int = 0
    same: int = 0
    conflicts: int = 0
    dropped: int = 0


def copy_messages(
    source: LockedSession, target: LockedSession, *, up_to: int | None = None, writer_id: str | None = None
) -> Copied:
    """After what the target has, in their order, written by nobody; what was streaming is interrupted there.

    `up_to`: the last position to copy. Another project's rule for secrets is followed there. Changes the target's counters, but
    does not store them.
    """
    copied, last = Copied(), source.last_position if up_to is None else up_to
    rule = _rule(source, target)
    rows = Message.objects.filter(session_id=source.id, epoch=source.epoch, removed=Removal.NONE, position__lte=last)
    if target.last_position:
        _keep_beside(rows, target, Copies(session_id=target.id, epoch=target.epoch, writer_id=writer_id), copied, rule)
    there, here, rev = db_uuid(target.id), db_uuid(source.id), target.rev + 1
    place = [there, target.epoch, target.last_position, rev, db_time(now())]
    execute(_COPY, [*place, here, source.epoch, last, there, target.epoch])
    if rule != OFF:
        _guard_copied(target, rev, rule)
    copied.added, size = fetch_row(_COPIED, [there, rev, target.epoch])
    if copied.added:
        target.rev = rev
        target.last_position += copied.added
        target.message_count += copied.added
        target.size_bytes += int(size)
        copied.dropped = len(drop_oldest(target))
    return copied


def _rule(source: LockedSession, target: LockedSession) -> str:
    """What is to be done about secrets that was not done in the source."""
    if source.project_id == target.project_id or (target.redaction == FLAG and source.redaction != OFF):
        return OFF
    return target.redaction


def _guard_copied(target: LockedSession, rev: int, rule: str) -> None:
    found = Message.objects.filter(session_id=target.id, rev=rev, epoch=target.epoch).values_list("pk", flat=True)
    for some in batched(list(found), BATCH):
        flagged = []
        for message in Message.objects.filter(pk__in=some):
            content = content_of(message)
            if guard(content, rule):
                fill(message, content)
                message.size_bytes = content.size_bytes
                flagged.append(message)
        Message.objects.bulk_update(flagged, [*CONTENT, "size_bytes"])


def _keep_beside(rows: "QuerySet[Message]", target: LockedSession, copies: Copies, copied: Copied, rule: str) -> None:
    """Where the id is taken, what stands there stays; the words that it does not hold are kept as a conflict copy."""
    there = Message.objects.filter(session_id=target.id, epoch=target.epoch)
    taken = there.filter(message_id=OuterRef("message_id"))
    equal = taken.filter(removed=Removal.NONE, text=OuterRef("text"))
    same = Q(Exists(equal.filter(parts=OuterRef("parts")))) | Q(Exists(equal), parts=None)
    copied.same = rows.filter(same).count()
    others: Iterator[Message] = rows.filter(Exists(taken)).exclude(same).order_by("position").iterator(BATCH)
    for batch in batched(others, BATCH):
        standing = {row.message_id: row for row in there.filter(message_id__in=[message.message_id for message in batch])}
        for message in batch:
            sent = content_of(message)
            guard(sent, rule)
            _keep(message, sent, standing[message.message_id], copies, copied)


def _keep(message: Message, sent: Content, there: Message, copies: Copies, copied: Copied) -> None:
    if message.status == Status.STREAMING:
        sent.status = Status.INTERRUPTED.value
    if not there.removed and content_of(there).holds(sent):
        copied.same += 1
    else:
        copies.keep(message.message_id, sent, Reason.REMOVED if there.removed else Reason.CONFLICT)
        copied.conflicts += 1
