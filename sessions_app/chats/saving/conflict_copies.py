"""Conflict copies: text that could not be saved where it was sent, kept until a person settles it."""

import uuid
from functools import cached_property
from typing import Any

from sessions_app.chats.message_content import Content
from sessions_app.chats.saving.message_input import read_id, read_message
from sessions_app.chats.saving.message_patch import Patch, patched, read_append, read_patch
from sessions_app.chats.saving.message_redaction import redact_message
from sessions_app.models import ConflictCopy, Message
from sessions_app.models.times import now

CONTENT = ("role", "text", "status", "parts", "metadata", "format", "raw", "parent_id", "flagged")


class ConflictCopies:
    """The copies of one session, for one writer. `kept`: how many were made; `changed`: one was made or extended."""

    def __init__(self, *, session_id: uuid.UUID, epoch: int, writer_id: str | None) -> None:
        self.session_id, self.epoch, self.writer_id = session_id, epoch, writer_id
        self.kept, self.changed = 0, False

    @cached_property
    def _first_id(self) -> int:
        """Copies of one save have the same time, so ids that follow each other keep them in the order of its ops."""
        return uuid.uuid4().int

    def keep(self, message_id: str, sent: Content, reason: ConflictCopy.Reason) -> str:
        """The id of the copy with this content: an existing one that contains it, this writer's extended one, or a new one."""
        for copy in ConflictCopy.objects.filter(session_id=self.session_id, message_id=message_id, settled_at=None):
            content = content_of(copy)
            if content.holds(sent):
                return str(copy.id)
            if copy.writer_id == self.writer_id and sent.holds(content):
                fill(copy, sent)
                copy.save()
                self.changed = True
                return str(copy.id)
        copy = ConflictCopy(session_id=self.session_id, epoch=self.epoch, message_id=message_id, writer_id=self.writer_id)
        copy.id = uuid.UUID(int=self._first_id + self.kept)
        copy.reason, copy.created_at = reason.value, now()
        fill(copy, sent)
        copy.save(force_insert=True)
        self.kept, self.changed = self.kept + 1, True
        return str(copy.id)

    def keep_refused(self, message_id: str, sent: Content) -> None:
        """For a save of an ended epoch: keep a copy unless a message of that id in any epoch already contains it."""
        known = Message.objects.filter(session_id=self.session_id, message_id=message_id)
        if not any(Content(*values).holds(sent) for values in known.values_list(*CONTENT)):
            self.keep(message_id, sent, ConflictCopy.Reason.STALE_EPOCH)


def keep_late_text(copies: ConflictCopies, op: dict[str, Any], redaction: str) -> None:
    """Keep the text of one op of an ended epoch. A patch or append is applied to the newest message of its id, in any epoch.

    Raises Rejected for an invalid op.
    """
    if op.get("op") == "upsert":
        sent = read_message(op)
        message_id, content = sent.message_id, sent.content
    elif op.get("op") in ("patch", "append"):
        message_id = read_id(op.get("id"))
        known = Message.objects.filter(session_id=copies.session_id, message_id=message_id).order_by("-rev").first()
        patch = None if known is None else _patch_of(op, known.text)
        if known is None or patch is None or not patch.has_text:
            return
        content = patched(content_of(known), patch)
    else:
        return
    redact_message(content, redaction)
    copies.keep_refused(message_id, content)


def _patch_of(op: dict[str, Any], stored: str) -> Patch | None:
    """None for an append behind the end of the stored text: what is between them is not known."""
    if op["op"] == "patch":
        return read_patch(op)
    sent = read_append(op)
    return sent.as_patch(stored) if sent.at <= len(stored) else None


def content_of(row: ConflictCopy | Message) -> Content:
    return Content(*(getattr(row, name) for name in CONTENT))


def fill(row: ConflictCopy | Message, content: Content) -> None:
    for name in CONTENT:
        setattr(row, name, getattr(content, name))
