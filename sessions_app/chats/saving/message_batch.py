"""The messages that one save touches: read once, changed in memory op by op, written back together."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Self

from sessions_app.chats.branches.nodes import Nodes
from sessions_app.chats.locking import LockedSession
from sessions_app.chats.message_content import Content
from sessions_app.chats.reading.messages import shown_messages, shown_status
from sessions_app.chats.saving.message_input import Seen
from sessions_app.core.storage.sql import db_time, db_uuid, fetch_rows, rfc3339, rfc3339_sql, table_of, write_later
from sessions_app.core.storage.statement_batch import Batch, current_batch
from sessions_app.models.live import Live
from sessions_app.models.message import PATCHED, Removal

_CONTENT = "role, text, status, parts, metadata, format, raw, parent_id, flagged"
_INSERT = (
    f"INSERT INTO sessions_app_message (message_id, {_CONTENT}, ver, rev, writer_id, writer_seq, removed, size_bytes, "  # noqa: S608
    "updated_at, under, aside, session_id, epoch, position, created_at) VALUES (" + ", ".join(["%s"] * 23) + ")"
)
_UPDATE = (
    f"UPDATE sessions_app_message SET {', '.join(f'{name} = %s' for name in _CONTENT.split(', '))}, ver = %s, rev = %s, "  # noqa: S608
    "writer_id = %s, writer_seq = %s, removed = %s, size_bytes = %s, updated_at = %s, under = %s, aside = %s, position = %s "
    "WHERE id = %s"
)

_NEWEST = (
    "SELECT position, message_id, size_bytes FROM sessions_app_message "
    "WHERE session_id = %s AND epoch = %s AND removed = '' AND aside IS NULL ORDER BY position DESC LIMIT %s"
)


@dataclass(slots=True)
class StoredMessage:
    """A row's state during the save. `pk` None = not in the database yet."""

    pk: int | None
    message_id: str
    content: Content
    ver: int
    rev: int
    writer_id: str | None
    writer_seq: int
    position: int
    removed: str
    created_at: str
    updated_at: str
    # Of `content`, as the columns of sizes count it.
    size_bytes: int
    # The last write was a patch: an earlier request of its writer may still have text that the message does not contain.
    patched: bool = False
    # Its place in the session's tree: see `chats/branches/tree.py`.
    under: str | None = None
    aside: bool | None = None
    # As it was loaded: live or not, and its `parent_id`.
    was_live: bool = False
    former_parent: str | None = None
    # The save does not name its parent.
    keeps_parent: bool = False
    # If the save truncated and restored it: its position before.
    former_place: int | None = None

    def is_seen(self, seen: Seen, base_rev: int) -> bool:
        """By a writer that sent this, or has seen everything up to `base_rev`."""
        # A patch says nothing of the fields that it did not name.
        if self.writer_id is not None and self.writer_id == seen.writer_id and self.writer_seq <= seen.seq and not self.patched:
            return True
        return self.rev <= base_rev if seen.ver is None else self.ver == seen.ver

    def as_json(self) -> dict[str, Any]:
        """The stored version, for a conflict or an ignored op."""
        content = self.content
        status = shown_status(content.status, self.updated_at)
        shown = {"id": self.message_id, "role": content.role, "text": content.text, "status": status}
        return {**shown, "ver": self.ver, "rev": self.rev, "removed": self.removed or None, "updated_at": self.updated_at}

    def as_read(self) -> list[dict[str, Any]]:
        """The whole message as a read returns it; nothing if its row is damaged."""
        content = self.content
        shown = [self.message_id, content.role, content.text, content.status, self.ver, self.rev, self.position]
        extras = [content.parts, content.metadata, content.raw, content.format, content.parent_id, content.flagged]
        return shown_messages([(*shown, self.created_at, self.updated_at, *extras, self.size_bytes)])


class MessageBatch:
    """Messages of the current epoch by id, as far as the save has loaded them."""

    def __init__(self, *, session_id: uuid.UUID, live: Live, last_position: int, at: datetime) -> None:
        self.session_id, self.live, self.last_position, self.at = session_id, live, last_position, at
        self.at_text = rfc3339(at)
        self.messages: dict[str, StoredMessage] = {}
        self._changed: dict[str, StoredMessage] = {}
        self.added = self.added_bytes = 0
        # Whether a message that was added or changed names its parent: without any, a linear session stays linear.
        self.names_parents = False
        # All live messages after this position have been read.
        self._live_after: int | None = None

    @classmethod
    def of(cls, session: LockedSession, message_ids: list[str], *, at: datetime) -> Self:
        """The session's messages with these ids, for a save at this time."""
        batch = cls(session_id=session.id, live=session.live, last_position=session.last_position, at=at)
        batch.load(message_ids)
        return batch

    def load(self, message_ids: list[str]) -> None:
        """Read the messages with these ids, if they exist."""
        wanted = [message_id for message_id in dict.fromkeys(message_ids) if message_id not in self.messages]
        wanted = [message_id for message_id in wanted if not self._take_ahead(message_id)]
        for start in range(0, len(wanted), 500):
            some = wanted[start : start + 500]
            self._read(f"message_id IN ({', '.join(['%s'] * len(some))})", some)

    def load_live_after(self, position: int) -> list[StoredMessage]:
        """The live messages after a position, in order, including the save's own changes so far."""
        if self._live_after is None or position < self._live_after:
            self._read("removed = '' AND aside IS NULL AND position > %s", [position])
            self._live_after = position
        found = (m for m in self.messages.values() if m.position > position and not m.removed and not m.aside)
        return sorted(found, key=lambda message: message.position)

    def load_followers(self, message_id: str) -> list[StoredMessage]:
        """The live messages of a branch that follow this one, in order."""
        rows = Nodes(self.session_id, self.live).subtree(message_id)
        ids = [found for _, found, _, _ in rows if found != message_id]
        self.load(ids)
        return [self.messages[found] for found in ids if not self.messages[found].removed]

    def load_newest(self, count: int, room: int, *, least: int) -> list[StoredMessage]:
        """The newest live messages, oldest first: at most `count`, and more than `least` only within `room` bytes."""
        if count == least == 1 and not self._changed:  # Its size does not matter, so it is read at once.
            self._read("removed = '' AND aside IS NULL ORDER BY position DESC LIMIT 1", [])
            live = (message for message in self.messages.values() if not message.removed and not message.aside)
            return sorted(live, key=lambda message: message.position)[-1:]
        newest = list[str]()
        for _, message_id, size_bytes in self.newest(count):
            room -= size_bytes
            if room < 0 and len(newest) >= least:
                break
            newest.append(message_id)
        self.load(newest)
        return [self.messages[message_id] for message_id in reversed(newest)]

    def newest(self, count: int) -> list[tuple[int, str, int]]:
        """`(position, id, size)` of the newest messages of the path, newest first, including the save's own changes so far."""
        limit = count + len(self._changed)
        rows = fetch_rows(_NEWEST, [db_uuid(self.session_id), self.live.epoch, limit])
        found = [tuple(row) for row in rows if row[1] not in self._changed]
        found += [(m.position, m.message_id, m.size_bytes) for m in self._changed.values() if not m.removed and not m.aside]
        return sorted(found, reverse=True)[:count]

    def add(self, *, message_id: str, content: Content, rev: int, writer_id: str, seq: int, removed: str = "") -> StoredMessage:
        self.last_position += 1
        state = (1, rev, writer_id, seq, self.last_position, removed, self.at_text, self.at_text, content.size_bytes)
        message = StoredMessage(None, message_id, content, *state)
        self.messages[message_id] = self._changed[message_id] = message
        self.names_parents |= content.parent_id is not None
        if not removed:
            self.added += 1
            self.added_bytes += message.size_bytes
        return message

    def change(
        self,
        message: StoredMessage,
        *,
        rev: int,
        writer_id: str | None,
        seq: int,
        content: Content | None = None,
        removed: str = "",
        patched: bool = False,
    ) -> None:
        """Overwrite or remove a message and update the counters."""
        was_live, old_size = not message.removed, message.size_bytes
        if content is not None:
            message.content, message.size_bytes = content, content.size_bytes
        message.ver += 1
        message.rev, message.writer_id, message.writer_seq = rev, writer_id, seq
        message.removed, message.updated_at, message.patched = removed, self.at_text, patched
        is_live = not removed
        self.added += is_live - was_live
        self.added_bytes += is_live * message.size_bytes - was_live * old_size
        self._changed[message.message_id] = message
        self.names_parents |= message.content.parent_id is not None

    def move_to_end(self, message: StoredMessage) -> None:
        message.former_place = message.former_place or message.position
        self.last_position += 1
        message.position = self.last_position

    @property
    def appended(self) -> list[StoredMessage]:
        """The messages that this save made live, in order."""
        return sorted((m for m in self._changed.values() if not m.removed and not m.was_live), key=lambda m: m.position)

    @property
    def changed(self) -> list[StoredMessage]:
        """What this save added, changed, removed and restored."""
        return list(self._changed.values())

    def grow_removed(self, message: StoredMessage, content: Content, *, writer_id: str, seq: int, patched: bool) -> None:
        """A late save of a removed message extends the kept text; the message stays removed."""
        if message.writer_id != writer_id or seq >= message.writer_seq:
            message.writer_id, message.writer_seq, message.patched = writer_id, seq, patched
        message.content, message.size_bytes = content, content.size_bytes
        self._changed[message.message_id] = message

    def write(self) -> None:
        new = [m for m in self._changed.values() if m.pk is None]
        old = [m for m in self._changed.values() if m.pk is not None]
        session, at = db_uuid(self.session_id), db_time(self.at)
        if new:
            write_later(_INSERT, [[m.message_id, *_values(m, at), session, self.live.epoch, m.position, at] for m in new])
        if old:
            write_later(_UPDATE, [[*_values(m, at), m.position, m.pk] for m in old])

    def _take_ahead(self, message_id: str) -> bool:
        """True if the batch prefetched this id."""
        batch = current_batch()
        rows = batch and batch.rows(_AHEAD, [db_uuid(self.session_id), self.live.epoch, message_id])
        self._put(rows or [])
        return rows is not None

    def _read(self, where: str, parameters: list[Any]) -> None:
        sql = f"SELECT {_columns()} FROM sessions_app_message m WHERE session_id = %s AND epoch = %s AND {where}"  # noqa: S608
        self._put(fetch_rows(sql, [db_uuid(self.session_id), self.live.epoch, *parameters]))

    def _put(self, rows: list[Any]) -> None:
        for pk, message_id, *rest in rows:
            *rest, under, aside = rest
            message = StoredMessage(pk, message_id, Content(*rest[:9]), *rest[9:])
            message.under, message.aside = under, aside
            message.was_live, message.former_parent = not message.removed, message.content.parent_id
            if message.writer_seq >= PATCHED:
                message.writer_seq, message.patched = message.writer_seq - PATCHED, True
            if self.live.revived(message.rev, message.position):
                message.rev, message.writer_id = self.live.rev_of(message.rev, message.position), None
                message.writer_seq = 0
            self.messages.setdefault(message_id, message)


# Key of prefetched rows: the messages of an epoch by id.
_AHEAD = "message"
# A session, and ids of messages.
Named = tuple[uuid.UUID, list[str]]


def many(named: list[Named]) -> tuple[str, list[Any]]:
    """A query for these messages of the epochs that their sessions are in: rows for `put_ahead`."""
    given, parameters = table_of(("uuid", "text"), _keys(named))
    sql = (
        f"SELECT m.session_id, {_columns()} FROM {given} CROSS JOIN sessions_app_chatsession s CROSS JOIN "  # noqa: S608
        "sessions_app_message m WHERE s.id = given.c0 AND m.session_id = s.id AND m.epoch = s.epoch AND m.message_id = given.c1"
    )
    return sql, parameters


def put_ahead(batch: Batch, named: list[Named], epochs: dict[Any, int], rows: list[Any]) -> None:
    """Prefetch rows for `load`. `epochs`: of the sessions that are locked, as they are stored."""
    found = {(session, row[1]): row for session, *row in rows}
    for session, message_id in _keys(named):
        if (epoch := epochs.get(session)) is not None:
            row = found.get((session, message_id))
            batch.put(session, _AHEAD, (session, epoch, message_id), [] if row is None else [row])


def _keys(named: list[Named]) -> list[tuple[Any, str]]:
    return [(db_uuid(session), message_id) for session, ids in named for message_id in ids]


@cache
def _columns() -> str:
    contents = ", ".join(f"m.{name}" for name in _CONTENT.split(", "))
    times = f"{rfc3339_sql('m.created_at')}, {rfc3339_sql('m.updated_at')}, m.size_bytes"
    stored = "m.ver, m.rev, m.writer_id, m.writer_seq, m.position, m.removed"
    return f"m.id, m.message_id, {contents}, {stored}, {times}, m.under, m.aside"


def _values(message: StoredMessage, at: Any) -> list[Any]:
    content = message.content
    return [
        content.role, content.text, content.status, content.parts, content.metadata, content.format, content.raw,
        content.parent_id, content.flagged, message.ver, message.rev, message.writer_id,
        message.writer_seq + PATCHED * message.patched,
        message.removed, message.size_bytes, at, message.under, message.aside,
    ]  # fmt: skip


LIVE = Removal.NONE.value
