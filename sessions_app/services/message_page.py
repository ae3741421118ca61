"""The part of a session that one save touches: read once, changed in memory op by op, written back in one go."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sessions_app.models.message import Removal
from sessions_app.models.sql import db_time, db_uuid, execute_many, fetch_rows, rfc3339, rfc3339_sql
from sessions_app.queries.messages import shown_status
from sessions_app.services.sent import Content

_CONTENT = "role, text, status, parts, metadata, format, raw, parent_id, flagged"
_INSERT = (
    f"INSERT INTO sessions_app_message (message_id, {_CONTENT}, ver, rev, writer_id, writer_seq, removed, size_bytes, "  # noqa: S608
    "updated_at, session_id, epoch, position, created_at) VALUES (" + ", ".join(["%s"] * 21) + ")"
)
_UPDATE = (
    f"UPDATE sessions_app_message SET {', '.join(f'{name} = %s' for name in _CONTENT.split(', '))}, ver = %s, rev = %s, "  # noqa: S608
    "writer_id = %s, writer_seq = %s, removed = %s, size_bytes = %s, updated_at = %s WHERE id = %s"
)


@dataclass(slots=True)
class StoredMessage:
    """A row as it stands while the save goes on. `pk` None = not in the database yet."""

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

    def as_json(self) -> dict[str, Any]:
        """The server's side of a conflict or of an ignored op."""
        content = self.content
        status = shown_status(content.status, self.updated_at)
        shown = {"id": self.message_id, "role": content.role, "text": content.text, "status": status}
        return {**shown, "ver": self.ver, "rev": self.rev, "removed": self.removed or None, "updated_at": self.updated_at}


class MessagePage:
    """Messages of one epoch by id, as far as the save has asked for them."""

    def __init__(self, *, session_id: uuid.UUID, epoch: int, last_position: int, at: datetime) -> None:
        self.session_id, self.epoch, self.last_position, self.at = session_id, epoch, last_position, at
        self.at_text = rfc3339(at)
        self.messages: dict[str, StoredMessage] = {}
        self._changed: dict[str, StoredMessage] = {}
        self.added = self.added_bytes = 0

    def load(self, message_ids: list[str]) -> None:
        """Read these ids, where they exist."""
        wanted = [message_id for message_id in dict.fromkeys(message_ids) if message_id not in self.messages]
        for start in range(0, len(wanted), 500):
            some = wanted[start : start + 500]
            self._read(f"message_id IN ({', '.join(['%s'] * len(some))})", some)

    def load_live_after(self, position: int) -> list[StoredMessage]:
        """The live messages behind a position, in order; what the save itself changed counts as it is now."""
        self._read("removed = '' AND position > %s", [position])
        found = (m for m in self.messages.values() if m.position > position and not m.removed)
        return sorted(found, key=lambda message: message.position)

    def add(self, *, message_id: str, content: Content, rev: int, writer_id: str, seq: int, removed: str = "") -> StoredMessage:
        self.last_position += 1
        message = StoredMessage(
            None, message_id, content, 1, rev, writer_id, seq, self.last_position, removed, self.at_text, self.at_text
        )
        self.messages[message_id] = self._changed[message_id] = message
        if not removed:
            self.added += 1
            self.added_bytes += content.size_bytes
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
    ) -> None:
        """Write over a message or take it out; the counters follow."""
        was_live, old_size = not message.removed, message.content.size_bytes
        if content is not None:
            message.content = content
        message.ver += 1
        message.rev, message.writer_id, message.writer_seq = rev, writer_id, seq
        message.removed, message.updated_at = removed, self.at_text
        is_live = not removed
        self.added += is_live - was_live
        self.added_bytes += is_live * message.content.size_bytes - was_live * old_size
        self._changed[message.message_id] = message

    def grow_removed(self, message: StoredMessage, content: Content) -> None:
        """A late save of a message that is out of the window lengthens the kept text; nothing else of it changes."""
        message.content = content
        self._changed[message.message_id] = message

    def write(self) -> None:
        new = [m for m in self._changed.values() if m.pk is None]
        old = [m for m in self._changed.values() if m.pk is not None]
        session, at = db_uuid(self.session_id), db_time(self.at)
        if new:
            execute_many(_INSERT, [[m.message_id, *_values(m, at), session, self.epoch, m.position, at] for m in new])
        if old:
            execute_many(_UPDATE, [[*_values(m, at), m.pk] for m in old])

    def _read(self, where: str, parameters: list[Any]) -> None:
        sql = (
            f"SELECT id, message_id, {_CONTENT}, ver, rev, writer_id, writer_seq, position, removed, "  # noqa: S608
            f"{rfc3339_sql('created_at')}, {rfc3339_sql('updated_at')} "
            f"FROM sessions_app_message WHERE session_id = %s AND epoch = %s AND {where}"
        )
        for pk, message_id, *rest in fetch_rows(sql, [db_uuid(self.session_id), self.epoch, *parameters]):
            self.messages.setdefault(message_id, StoredMessage(pk, message_id, Content(*rest[:9]), *rest[9:]))


def _values(message: StoredMessage, at: Any) -> list[Any]:
    content = message.content
    return [
        content.role, content.text, content.status, content.parts, content.metadata, content.format, content.raw,
        content.parent_id, content.flagged, message.ver, message.rev, message.writer_id, message.writer_seq,
        message.removed, content.size_bytes, at,
    ]  # fmt: skip


LIVE = Removal.NONE.value
