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
        if not any(m.content.parent_id is not None for m in appended) and not page.reparented:
            return False
        if not page.reparented and _in_line(session, page, appended):
            return False
    for message in appended:
        page.put_aside(message)
    return True


def write_and_place(session: LockedSession, page: "MessageBatch", *, rev: int) -> None:
    """Write the messages, those that need it with their places."""
    branched = _needs_places(session, page)
    page.write()
    if branched:
        _place(session, page, rev=rev)


def _place(session: LockedSession, page: "MessageBatch", *, rev: int) -> None:
    """Once they are written: first what was removed, then what is new, in its order. Changes the session's head."""
    session.last_position = page.last_position
    tree = Tree(session, rev=rev)
    if page.appended:
        tree.begin()
    if session.head is not None and (taken_out := page.taken_out):
        tree.remove([(m.message_id, m.under, m.position) for m in taken_out])
    tree.unplaced.update(message.message_id for message in page.appended)
    for message in page.appended:
        tree.place(message.message_id)
    for message in page.reparented:
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
