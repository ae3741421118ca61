"""The rules of a save for one op each, on messages in memory.

They come from a model that was run through tens of thousands of random histories: no acknowledged text is lost and
nothing that was removed reappears. Change one only together with the histories in the tests.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from sessions_app.chats.message_content import Content, longer
from sessions_app.chats.saving.conflict_copies import ConflictCopies
from sessions_app.chats.saving.message_batch import MessageBatch, StoredMessage
from sessions_app.chats.saving.message_input import (
    MOST_POPPED,
    Rejected,
    Seen,
    Upsert,
    check_fields,
    read_id,
    read_seen,
    read_upsert,
)
from sessions_app.chats.saving.message_patch import Append, Patch, patched, read_after, read_append, read_count, read_patch
from sessions_app.chats.saving.message_redaction import redact_message, redact_patched
from sessions_app.core.id_parsing import is_dots
from sessions_app.models.message import ConflictCopy, Removal, Role, Status, common_role
from sessions_app.models.project import OFF

COMPLETE, STREAMING = Status.COMPLETE.value, Status.STREAMING.value
Reason = ConflictCopy.Reason


@dataclass(slots=True)
class Outcome:
    """The result of each op; the lists of the answer."""

    applied: list[dict[str, Any]] = field(default_factory=list)
    ignored: list[dict[str, Any]] = field(default_factory=list)
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    # Ids, each once.
    spared: dict[str, None] = field(default_factory=dict)
    # None: the request has no pop.
    popped: list[dict[str, Any]] | None = None
    redacted: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class OpRules:
    """The state of one save: the writer, what it has seen, and the messages that it changes."""

    page: MessageBatch
    copies: ConflictCopies
    writer_id: str
    seq: int
    base_rev: int
    next_rev: int
    redaction: str = OFF
    beacon: bool = False
    outcome: Outcome = field(default_factory=Outcome)
    # Messages that this request truncated: the `ver` before, and the entry in `applied`.
    truncated: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    popped_bytes: int = 0

    def apply(self, index: int, op: Any) -> None:
        """Apply one op; an invalid one is listed in `rejected` with its index."""
        try:
            if not isinstance(op, dict):
                raise Rejected("not_an_object")
            self._dispatch(op)
        except Rejected as refusal:
            named = op.get("after" if op.get("op") == "truncate" else "id") if isinstance(op, dict) else None
            message_id = named[:64] if isinstance(named, str) else None
            told = {"reason": refusal.reason, "message": refusal.message}
            if refusal.field is not None:
                told["field"] = refusal.field
            self.outcome.rejected.append({"id": message_id, "index": index, **told})

    def _dispatch(self, op: dict[str, Any]) -> None:
        match op.get("op"):
            case "upsert":
                self.upsert(read_upsert(op))
            case "delete":
                message_id, seen = read_id(op.get("id")), read_seen(op)
                check_fields(op)
                self.delete(message_id, seen)
            case "truncate":
                after = read_after(op)
                check_fields(op)
                self.truncate(after)
            case "patch":
                patch = read_patch(op)
                check_fields(op)
                self.patch(patch)
            case "append":
                appended = read_append(op)
                check_fields(op)
                self.append(appended)
            case "pop":
                count = read_count(op)
                check_fields(op)
                self.pop(count)
            case _:
                raise Rejected("unknown_op")

    def upsert(self, sent: Upsert) -> None:
        stored = self.page.messages.get(sent.message_id)
        if stored is None and is_dots(sent.message_id):
            raise Rejected("dots_as_id")
        self.outcome.redacted.update(redact_message(sent.content, self.redaction))
        if stored is not None:
            # Clients write back what they read, with null for an absent field: that moves nothing.
            stored.keeps_parent = not sent.content.parent_id
            sent.content.parent_id = sent.content.parent_id or stored.content.parent_id
        if stored is None:
            self._append(sent)
        elif not stored.removed:
            self._replace(stored, sent.content, sent.seen)
        elif not self._brought_back(stored, sent):
            self._after_removal(stored, sent.content)

    def patch(self, sent: Patch) -> None:
        """An upsert of the stored message with the named fields; for a removed one, its text is kept in the same way."""
        stored = self.page.messages.get(sent.message_id)
        if stored is None:
            raise Rejected("unknown_message")
        content = self._patched(stored, sent)
        if stored.removed:
            self._after_removal(stored, content, patch=sent)
        else:
            self._replace(stored, content, sent.seen, patch=sent)

    def append(self, sent: Append) -> None:
        """Extend a streaming message whose text ends where the piece begins; other text is never written over."""
        stored = self.page.messages.get(sent.message_id)
        if stored is None:
            raise Rejected("unknown_message")
        text, applied, conflicts = stored.content.text, self.outcome.applied, self.outcome.conflicts
        if sent.repeats(text):
            self._ignore(stored, "removed" if stored.removed else "same")
        elif sent.at > len(text):
            conflicts.append({"id": stored.message_id, "server": stored.as_json(), "copy_id": None, "length": len(text)})
        elif stored.removed or (stored.writer_id == self.writer_id and self.seq < stored.writer_seq):
            self.patch(sent.as_patch(text))
        else:
            patch = sent.as_patch(text)
            content = self._patched(stored, patch)
            fits = sent.at == len(text) and stored.content.status == STREAMING and sent.seen.ver in {None, stored.ver}
            (self._write if fits else self._refuse)(stored, content, patch)
            (applied if fits else conflicts)[-1]["length"] = len(stored.content.text)

    def pop(self, count: int) -> None:
        """Remove the newest messages, regardless of their writer: the answer returns them, so nothing is lost unseen."""
        if self.beacon:
            raise Rejected("pop_in_beacon")
        taken = self.outcome.popped = self.outcome.popped or []
        # So that the answer, which is also stored, is not larger than a window.
        count, room = min(count, MOST_POPPED - len(taken)), settings.WINDOW_BYTES - self.popped_bytes
        for message in self.page.load_newest(count, room, least=0 if taken else 1):
            self.popped_bytes += message.size_bytes
            taken += message.as_read()
            self._take_out(message, Removal.DELETED.value)

    def _patched(self, stored: StoredMessage, sent: Patch) -> Content:
        content = patched(stored.content, sent)
        self.outcome.redacted.update(redact_patched(content, stored.content, self.redaction))
        return content

    def _replace(self, stored: StoredMessage, content: Content, seen: Seen, *, patch: Patch | None = None) -> None:
        """Write new content over a live message, if this writer may."""
        if _says_the_same(stored.content, content):
            self._ignore(stored, "same")
        elif stored.writer_id == self.writer_id:
            # Equal seq: an earlier op of the same request. Ops apply in order.
            if self.seq >= stored.writer_seq:
                self._write(stored, content, patch)
            elif stored.patched and not stored.content.holds(content):
                self._refuse(stored, content, patch)
            else:
                self._ignore(stored, "stale")
        elif stored.is_seen(seen, self.base_rev):
            self._write(stored, content, patch)
        elif patch is None or patch.is_growth:
            self._settle(stored, content, patch)
        else:
            self._refuse(stored, content, patch)

    def delete(self, message_id: str, seen: Seen) -> None:
        stored = self.page.messages.get(message_id)
        if stored is None:
            # A tombstone, so that an upsert that arrives after its own delete does not create the message.
            # It has no content yet, so its seq is 0.
            nothing = Content(Role.ASSISTANT.value, "", COMPLETE)
            self.page.add(
                message_id=message_id, content=nothing, rev=self.next_rev, writer_id=self.writer_id, seq=0,
                removed=Removal.DELETED.value,
            )  # fmt: skip
            self.outcome.ignored.append({"id": message_id, "reason": "unknown"})
        elif stored.removed:
            self._ignore(stored, "removed")
        elif self._wrote_before(stored) or stored.is_seen(seen, self.base_rev):
            self._take_out(stored, Removal.DELETED.value)
        else:
            self.outcome.conflicts.append({"id": message_id, "server": stored.as_json(), "copy_id": None})

    def truncate(self, after: str | None) -> None:
        position = 0
        if after is not None:
            stored = self.page.messages.get(after)
            if stored is None or stored.removed:
                raise Rejected("unknown_message")
            if stored.aside:
                return self.take_out_all(self.page.load_followers(after), Removal.TRUNCATED.value)
            position = stored.position
        return self.take_out_all(self.page.load_live_after(position), Removal.TRUNCATED.value)

    def take_out_all(self, messages: list[StoredMessage], removal: str) -> None:
        """Remove all but messages changed after `base_rev` by other writers or by a later request of this one."""
        for message in messages:
            if message.rev > self.base_rev and not self._wrote_before(message):
                self.outcome.spared[message.message_id] = None
            else:
                self._take_out(message, removal)
                self.truncated[message.message_id] = (message.ver - 1, self.outcome.applied[-1])

    def _append(self, sent: Upsert) -> None:
        added = self.page.add(
            message_id=sent.message_id, content=sent.content, rev=self.next_rev, writer_id=self.writer_id, seq=self.seq
        )
        self.outcome.applied.append({"id": added.message_id, "ver": added.ver})

    def _brought_back(self, stored: StoredMessage, sent: Upsert) -> bool:
        """After a truncate of the same request, an upsert restores the id: as a new message, or over the truncated version.

        The message is appended, in the order of the ops, and its entry in `applied` no longer reports a removal.
        """
        ver, entry = self.truncated.get(sent.message_id, (None, {}))
        if ver is None or sent.seen.ver not in {None, 0, ver}:
            return False
        del self.truncated[sent.message_id]
        self.page.move_to_end(stored)
        self.page.change(stored, rev=self.next_rev, writer_id=self.writer_id, seq=self.seq, content=sent.content)
        del entry["removed"]
        entry["ver"] = stored.ver
        return True

    def _after_removal(self, stored: StoredMessage, sent: Content, *, patch: Patch | None = None) -> None:
        """A save never restores a removed message, but its text is kept."""
        if sent.holds(stored.content):
            self.page.grow_removed(stored, sent, writer_id=self.writer_id, seq=self.seq, patched=patch is not None)
        elif not stored.content.holds(sent) and not self._superseded(stored):
            self.copies.keep(stored.message_id, sent, Reason.REMOVED)
        self._ignore(stored, "removed")

    def _settle(self, stored: StoredMessage, sent: Content, patch: Patch | None) -> None:
        """Merge concurrent writes of two writers. If one text contains the other (clients of one stream), keep the longer."""
        if common_role(stored.content.role) == Role.ASSISTANT:
            winner = longer(stored.content, sent)
            if winner is sent:
                return self._write(stored, sent, patch)
            if winner is stored.content:
                return self._ignore(stored, "stale")
        return self._refuse(stored, sent, patch)

    def _refuse(self, stored: StoredMessage, sent: Content, patch: Patch | None) -> None:
        """A conflict. What was sent is kept as a copy, unless a patch changes only the status."""
        only_status = patch is not None and stored.content.same_beside_status(sent)
        copy_id = None if only_status else self.copies.keep(stored.message_id, sent, Reason.CONFLICT)
        self.outcome.conflicts.append({"id": stored.message_id, "server": stored.as_json(), "copy_id": copy_id})

    def _write(self, stored: StoredMessage, content: Content, patch: Patch | None) -> None:
        own, seq, by_patch = self.writer_id, self.seq, patch is not None
        self.page.change(stored, rev=self.next_rev, writer_id=own, seq=seq, content=content, patched=by_patch)
        self.outcome.applied.append({"id": stored.message_id, "ver": stored.ver})

    def _take_out(self, stored: StoredMessage, removal: str) -> None:
        """Writer and seq stay those of the content, so a late upsert is compared with the content and not with the removal."""
        writer_id, seq, by_patch = stored.writer_id, stored.writer_seq, stored.patched
        self.page.change(stored, rev=self.next_rev, writer_id=writer_id, seq=seq, removed=removal, patched=by_patch)
        self.outcome.applied.append({"id": stored.message_id, "ver": stored.ver, "removed": removal})

    def _ignore(self, stored: StoredMessage, reason: str) -> None:
        self.outcome.ignored.append({"id": stored.message_id, "reason": reason, "server": stored.as_json()})

    def _wrote_before(self, stored: StoredMessage) -> bool:
        return stored.writer_id == self.writer_id and self.seq >= stored.writer_seq

    def _superseded(self, stored: StoredMessage) -> bool:
        """True if a later write of this writer replaced what it sends now. A patch replaces only what it names."""
        return stored.writer_id == self.writer_id and self.seq < stored.writer_seq and not stored.patched


def _says_the_same(stored: Content, sent: Content) -> bool:
    """Equal, or the streaming form of what is already stored as complete."""
    if not stored.same_beside_status(sent):
        return False
    return stored.status == sent.status or (stored.status == COMPLETE and sent.status == STREAMING)
