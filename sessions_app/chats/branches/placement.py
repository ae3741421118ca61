"""Gives the messages of a save their places in the session's tree. A session without branches has none, and costs nothing."""

from typing import TYPE_CHECKING

from sessions_app.chats.branches.tree import Tree
from sessions_app.chats.locking import LockedSession

if TYPE_CHECKING:
    from sessions_app.chats.saving.message_batch import MessageBatch, StoredMessage


def _needs_places(session: LockedSession, page: "MessageBatch") -> bool:
    """Before the messages are written: whether they need places. If so, those to be placed are marked."""
    if session.head is None and not page.names_parents:
        return False
    appended = page.appended
    if session.head is None:
        reparented = _reparented(page)
        if not any(m.content.parent_id is not None for m in appended) and not reparented:
            return False
        if not reparented and _in_line(session, page, appended):
            return False
    for message in appended:  # They are not on the path until they have their places.
        message.under, message.aside = message.under if message.former_place and message.pk else "", True
    return True


def _lift(session: LockedSession, page: "MessageBatch") -> "list[StoredMessage]":
    """In a session with branches: what this save truncated and restored is as new, and stays where it was if it was removed
    again; what it added and removed gets its place as it is restored. Returns those that are as new."""
    lifted: list[StoredMessage] = []
    for message in page.changed:
        if message.pk is None and message.removed:
            message.under = session.head or ""
        if message.former_place is None or message.pk is None:
            continue
        if message.removed:
            message.position = message.former_place
            continue
        message.was_live = False
        if message.keeps_parent and message.content.parent_id == message.former_parent:
            message.content.parent_id = None
        lifted.append(message)
    return lifted


def _reparented(page: "MessageBatch") -> "list[StoredMessage]":
    """The live messages whose `parent_id` this save changed."""
    stayed = (m for m in page.changed if not m.removed and m.was_live)
    return [m for m in stayed if m.content.parent_id not in {None, m.former_parent}]


def write_and_place(session: LockedSession, page: "MessageBatch", *, rev: int) -> None:
    """Write the messages, those that need it with their places."""
    lifted = [] if session.head is None else _lift(session, page)
    branched = _needs_places(session, page)
    appended = page.appended if branched else []
    for message in lifted:  # Until it has its new place it is behind what it followed, and before what was removed behind it.
        message.position = message.former_place or 0
    page.write()
    if branched:
        _place(session, page, appended, lifted, rev=rev)


def _place(
    session: LockedSession, page: "MessageBatch", appended: "list[StoredMessage]", lifted: "list[StoredMessage]", *, rev: int
) -> None:
    """Once they are written: first what was removed, then what is new, in its order. Changes the session's head."""
    session.last_position = page.last_position
    tree = Tree(session, rev=rev)
    if appended:
        tree.begin()
    left = [m for m in page.changed if m.removed and m.was_live] + lifted
    if session.head is not None and left:
        tree.remove([(m.message_id, m.under, m.position) for m in left])
    again = {message.message_id for message in lifted}
    tree.unplaced.update(message.message_id for message in appended)
    for message in appended:
        tree.place(message.message_id, again=message.message_id in again)
    for message in _reparented(page):
        tree.reparent(message.message_id)
    page.last_position = session.last_position


def _in_line(session: LockedSession, page: "MessageBatch", appended: "list[StoredMessage]") -> bool:
    """Whether each names as its parent the message before it, which it would follow anyway."""
    newest = [message_id for _, message_id, _ in page.newest(len(appended) + 1)]
    before = newest[-1] if len(newest) > len(appended) else ""
    for message in appended:
        if message.content.parent_id not in {None, before}:
            return False
        before = message.message_id
    return True
