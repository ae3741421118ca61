"""Restoring one removed message, and settling conflict copies."""

import uuid
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from sessions_app.chats.branches.nodes import Nodes
from sessions_app.chats.branches.tree import Tree
from sessions_app.chats.lifecycle.message_restore import free_id, restore_messages
from sessions_app.chats.lifecycle.removed_queries import restorable
from sessions_app.chats.locking import LockedSession, lock_session
from sessions_app.chats.message_content import Content
from sessions_app.chats.saving.conflict_copies import content_of
from sessions_app.chats.session_cap import drop_oldest, refuse_where_full
from sessions_app.core.errors import NotFound
from sessions_app.core.storage.transactions import write
from sessions_app.models import Caller, ConflictCopy, Message
from sessions_app.models.event import EventType
from sessions_app.models.live import Live
from sessions_app.models.message import Role, Status, common_role
from sessions_app.models.times import now

# In one undo. A session has no more copies of answers than clients that were answering.
MOST_TAKEN_IN = 100


class RemovedNotFound(NotFound):
    kind = "message"
    message = "No message with this id was removed from this session in the last 30 days. List the removed messages."


class ConflictNotFound(NotFound):
    kind = "conflict"
    message = "This session has no open conflict with this id; it may be settled by now. List its conflicts."


class Keep(StrEnum):
    """Which side of a conflict to keep: the stored message, the copy, or both."""

    THEIRS = "theirs"
    OURS = "ours"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Restored:
    epoch: int
    prev_rev: int
    rev: int
    message_id: str
    renamed: list[dict[str, str]]


def restore_message(*, caller: Caller, session_id: uuid.UUID, message_id: str, epoch: int | None = None) -> Restored:
    """Restore one message at its position. If several have this id: the newest, or the one of `epoch`.

    Raises RemovedNotFound, and SessionFull at the hard cap.
    """

    def work() -> Restored:
        session = lock_session(caller=caller, session_id=session_id)
        found = restorable(session_id=session_id, epoch=session.live.epoch).filter(message_id=message_id)
        message = (found if epoch is None else found.filter(epoch=epoch)).order_by("-pk").first()
        if message is None:
            raise RemovedNotFound
        refuse_where_full(session)
        prev_rev, session.rev = session.rev, session.rev + 1
        _leave(session, message)
        revived = restore_messages(session, Message.objects.filter(pk=message.pk), now())
        id_now = revived.renamed[0]["to"] if revived.renamed else message_id
        _place(session, message, id_now)
        session.write()
        session.publish(EventType.SESSION_UPDATED, caller)
        return Restored(session.epoch, prev_rev, session.rev, id_now, revived.renamed)

    return write(work)


def _leave(session: LockedSession, message: Message) -> None:
    """What followed it in a cleared epoch, and comes back by an undo, follows the message before it there."""
    if message.epoch == session.live.epoch or message.removed:
        return
    rows = Message.objects.filter(session_id=session.id, epoch=message.epoch, under__isnull=False, under=message.message_id)
    before = Nodes(session.id, Live(message.epoch)).newest_on_path(message.position - 1) if message.under is None else None
    rows.update(under=message.under or (before.message_id if before is not None else ""))


def _place(session: LockedSession, message: Message, id_now: str) -> None:
    """In the session's tree: where it was or, if it comes from before a clear, before all others."""
    tree = Tree(session)
    if session.head is not None and message.epoch == session.live.epoch:
        return tree.restore(id_now)
    row = Message.objects.filter(pk=message.pk)
    row.exclude(under=None, aside=None).update(under=None, aside=None)
    if session.head is None:
        return None
    if tree.nodes.has_branches(message.position):  # Of messages that were restored before.
        row.update(under="", aside=True)
        return None
    return tree.put_first(id_now)


def settle_conflict(*, caller: Caller, session_id: uuid.UUID, copy_id: uuid.UUID, keep: Keep) -> Restored:
    """Settle a conflict. `ours` replaces the message by the copy, `both` adds the copy as a new message at the end."""

    def work() -> Restored:
        session = lock_session(caller=caller, session_id=session_id)
        copy = ConflictCopy.objects.filter(id=copy_id, session_id=session_id, settled_at=None).first()
        if copy is None:
            raise ConflictNotFound
        prev_rev, message_id = session.rev, copy.message_id
        copy.settled_at = now()
        copy.save(update_fields=["settled_at"])
        if keep is not Keep.THEIRS:
            session.rev += 1
            message_id = _put(session, copy, replace=keep is Keep.OURS)
            drop_oldest(session)
        session.write()
        session.publish(EventType.SESSION_UPDATED, caller)
        return Restored(session.epoch, prev_rev, session.rev, message_id, [])

    return write(work)


def take_in_late_text(session: LockedSession) -> None:
    """Answers that went on while their session was cleared: an open copy that continues a live message replaces it.

    Changes the session's counters, but does not store them. Only prefixes: whatever differs is for a person to settle.
    """
    late = ConflictCopy.objects.filter(session_id=session.id, reason=ConflictCopy.Reason.STALE_EPOCH, settled_at=None)
    for copy in late.order_by("created_at")[:MOST_TAKEN_IN]:
        standing = _standing(session, copy.message_id)
        if standing is None or common_role(standing.role) != Role.ASSISTANT:
            continue
        content = _ended(copy)
        if content.holds(content_of(standing)):
            _replace(session, standing, content)
            copy.settled_at = now()
            copy.save(update_fields=["settled_at"])


def _ended(copy: ConflictCopy) -> Content:
    """Nobody is writing it: its writer was refused."""
    content = content_of(copy)
    if content.status == Status.STREAMING:
        content.status = Status.INTERRUPTED.value
    return content


def _standing(session: LockedSession, message_id: str) -> Message | None:
    live = Message.objects.filter(session_id=session.id, epoch=session.live.epoch, removed="")
    return live.filter(message_id=message_id).first()


def _replace(session: LockedSession, standing: Message, content: Content) -> None:
    session.size_bytes += content.size_bytes - standing.size_bytes
    content.parent_id = standing.parent_id
    _fill(standing, session, content)
    standing.ver += 1
    standing.save()


def _put(session: LockedSession, copy: ConflictCopy, *, replace: bool) -> str:
    content = _ended(copy)
    content.parent_id = None
    if replace and (standing := _standing(session, copy.message_id)) is not None:
        _replace(session, standing, content)
        return standing.message_id
    message_id = free_id(session, copy.message_id, session.live.epoch, session.epoch)
    session.last_position += 1
    session.message_count += 1
    session.size_bytes += content.size_bytes
    added = Message(session_id=session.id, epoch=session.live.epoch, message_id=message_id, position=session.last_position)
    _fill(added, session, content)
    added.created_at = added.updated_at
    added.under, added.aside = (None, None) if session.head is None else ("", True)
    added.save(force_insert=True)
    if session.head is not None:
        Tree(session).place(message_id)
    return message_id


def _fill(message: Message, session: LockedSession, content: Content) -> None:
    values: dict[str, Any] = {field.name: getattr(content, field.name) for field in fields(content)}
    values |= {"rev": session.rev, "writer_id": None, "writer_seq": 0, "size_bytes": content.size_bytes, "updated_at": now()}
    for name, value in values.items():
        setattr(message, name, value)
