"""Copies a session's live messages into another: under the same ids where free, else as conflict copies.

A fork copies in batches: see `fork_copying.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import batched

from django.db.models import Exists, OuterRef, Q, QuerySet

from sessions_app.chats.branches.tree import Tree
from sessions_app.chats.locking import LockedSession
from sessions_app.chats.message_content import Content
from sessions_app.chats.saving.conflict_copies import CONTENT, ConflictCopies, content_of, fill
from sessions_app.chats.saving.message_redaction import redact_message
from sessions_app.chats.session_cap import drop_oldest
from sessions_app.core.storage.sql import db_time, db_uuid, execute, fetch_row
from sessions_app.models import ConflictCopy, Message, Project
from sessions_app.models.message import Removal, Status
from sessions_app.models.project import DEFAULT_REDACTION, FLAG, OFF
from sessions_app.models.times import now

BATCH = 500
Reason = ConflictCopy.Reason
_CONTENT = "message_id, role, text, parts, metadata, format, raw, parent_id, flagged, size_bytes, created_at, under, aside"
# One statement, so that a long session holds the lock only briefly.
_COPY = (
    f"INSERT INTO sessions_app_message ({_CONTENT}, status, session_id, epoch, position, rev, updated_at, "  # noqa: S608
    "ver, writer_seq, removed) "
    f"SELECT {_CONTENT}, CASE status WHEN '{Status.STREAMING.value}' THEN '{Status.INTERRUPTED.value}' ELSE status END, "
    "%s, %s, %s + ROW_NUMBER() OVER (ORDER BY position), %s, %s, 1, 0, '' FROM sessions_app_message "
    "WHERE session_id = %s AND epoch = %s AND removed = '' AND message_id NOT IN ("
    "SELECT message_id FROM sessions_app_message WHERE session_id = %s AND epoch = %s)"
)
_COPIED = (
    "SELECT count(*), coalesce(sum(size_bytes), 0) FROM sessions_app_message WHERE session_id = %s AND rev = %s AND epoch = %s"
)


@dataclass(slots=True)
class Copied:
    """How many were added, existed already, became conflict copies; how many old ones the hard cap then dropped.

    `size_bytes`: of what was added and kept.
    """

    added: int = 0
    same: int = 0
    conflicts: int = 0
    dropped: int = 0
    size_bytes: int = 0


def copy_messages(source: LockedSession, target: LockedSession, *, writer_id: str | None = None) -> Copied:
    """Appends them to the target in their order, without a writer; streaming messages become interrupted.

    Applies the rule for secrets of the target's project. Changes the target's counters, but does not store them.
    """
    copied, rule = Copied(), _rule(source, source.project_id == target.project_id, target.redaction)
    rows = Message.objects.filter(session_id=source.id, epoch=source.live.epoch, removed=Removal.NONE)
    if target.last_position:
        _keep_beside(rows, target, ConflictCopies(session_id=target.id, epoch=target.epoch, writer_id=writer_id), copied, rule)
    there, here, rev = db_uuid(target.id), db_uuid(source.id), target.rev + 1
    place = [there, target.live.epoch, target.last_position, rev, db_time(now())]
    execute(_COPY, [*place, here, source.live.epoch, there, target.live.epoch])
    if rule != OFF:
        guard_rows(Message.objects.filter(session_id=target.id, rev=rev, epoch=target.live.epoch), rule)
    copied.added, size = fetch_row(_COPIED, [there, rev, target.live.epoch])
    if copied.added:
        target.rev = rev
        target.last_position += copied.added
        target.message_count += copied.added
        target.size_bytes += int(size)
        copied.size_bytes += int(size)
        if source.head is not None or target.head is not None:
            Tree(target).join(place[2])
        copied.dropped = len(drop_oldest(target))
    return copied


def rule_between(source: LockedSession, project: Project) -> str:
    """The rule for secrets of this project, if the source's project did not already apply it."""
    return _rule(source, source.project_id == project.id, project.settings.get("redaction") or DEFAULT_REDACTION)


def _rule(source: LockedSession, same_project: bool, wanted: str) -> str:
    if same_project or (wanted == FLAG and source.redaction != OFF):
        return OFF
    return wanted


def guard_rows(rows: QuerySet[Message], rule: str) -> None:
    """Applies the rule for secrets to the rows just copied."""
    for some in batched(list(rows.values_list("pk", flat=True)), BATCH):
        flagged = []
        for message in Message.objects.filter(pk__in=some):
            content = content_of(message)
            if redact_message(content, rule):
                fill(message, content)
                message.size_bytes = content.size_bytes
                flagged.append(message)
        Message.objects.bulk_update(flagged, [*CONTENT, "size_bytes"])


def _keep_beside(rows: "QuerySet[Message]", target: LockedSession, copies: ConflictCopies, copied: Copied, rule: str) -> None:
    """If an id is taken, the target's message stays; text that it does not contain is kept as a conflict copy."""
    there = Message.objects.filter(session_id=target.id, epoch=target.live.epoch)
    taken = there.filter(message_id=OuterRef("message_id"))
    equal = taken.filter(removed=Removal.NONE, text=OuterRef("text"))
    same = Q(Exists(equal.filter(parts=OuterRef("parts")))) | Q(Exists(equal), parts=None)
    copied.same = rows.filter(same).count()
    others: Iterator[Message] = rows.filter(Exists(taken)).exclude(same).order_by("position").iterator(BATCH)
    for batch in batched(others, BATCH):
        standing = {row.message_id: row for row in there.filter(message_id__in=[message.message_id for message in batch])}
        for message in batch:
            sent = content_of(message)
            redact_message(sent, rule)
            _keep(message, sent, standing[message.message_id], copies, copied)


def _keep(message: Message, sent: Content, there: Message, copies: ConflictCopies, copied: Copied) -> None:
    if message.status == Status.STREAMING:
        sent.status = Status.INTERRUPTED.value
    if not there.removed and content_of(there).holds(sent):
        copied.same += 1
    else:
        kept = copies.kept
        copies.keep(message.message_id, sent, Reason.REMOVED if there.removed else Reason.CONFLICT)
        copied.conflicts += 1
        copied.size_bytes += sent.size_bytes if copies.kept > kept else 0
