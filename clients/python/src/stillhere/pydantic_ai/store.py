"""Conversations as sessions of a project."""

import logging
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry, ConversationRecord, ConversationStore

from stillhere.client import Client
from stillhere.connection import Operation, Request
from stillhere.errors import StillhereError
from stillhere.operations.projects import session_path, without_none
from stillhere.operations.records import Message, Session
from stillhere.operations.saving import pieces
from stillhere.operations.sessions import find_usable, get_session, list_sessions, read_message, tags_with
from stillhere.operations.whole_saves import save_whole
from stillhere.pydantic_ai.entries import (
    FORMAT,
    PIECE_FORMAT,
    TAG,
    entry_in,
    external_id,
    metadata_of,
    record_in,
    scope_tag,
    upserts_of_entry,
)

MOST_READ, MOST_KNOWN, ATTEMPTS = 500, 10_000, 5
_NOT_THERE = {404, 410}
OTHERS = (
    "The session %r has messages, but no conversation of Pydantic AI. What is saved there stands beside them, as another branch, "
    "and is what its page shows. An id names one session of the project, whatever framework uses it."
)
_log = logging.getLogger("stillhere")


class _Place(NamedTuple):
    """Where a conversation is, and as of when. `revision`: None without a record."""

    session: str
    rev: int
    revision: str | None
    tags: Sequence[str]


class StillhereConversationStore(ConversationStore):
    """Each conversation is a session of the project, with the conversation's id as its external id, its entries as messages and
    its record in the metadata (above 12 KB in a message of its own). A save is one request and one transaction. A fork has
    copies of the messages that it shares. A delete erases the session for good. The other arguments are those of
    `stillhere.Client`; `client` is used instead of a new one."""

    def __init__(
        self, url: str | None = None, key: str | None = None, project: str | None = None, *, client: Client | None = None
    ) -> None:
        self.client = client or Client(url, key, project)
        # What was read last, so that a save need not read again; and in which session entries are.
        self._places: OrderedDict[str, _Place] = OrderedDict()
        self._homes: OrderedDict[str, str] = OrderedDict()

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        return await self._found_by(self._read_record_now(conversation_id))

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        return await self._found_by(self._list(scope, limit))

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        await self._run(self._write(record, new_entries, expected_revision))

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        await self._run(self._delete(conversation_id, expected_revision))

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        return await self._found_by(self._entry(entry_id))

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        if head_id is None or limit == 0:
            return []
        return await self._found_by(self._history(head_id, limit))

    async def _found_by[T](self, operation: Operation[T]) -> T:
        return await self.client.connection.run_in_any_loop(operation)

    async def _run[T](self, operation: Operation[T]) -> T:
        return await self.client.connection.run_in_thread(operation)

    # --- Records.

    def _read_record_now(self, conversation_id: str) -> Operation[ConversationRecord | None]:
        session = yield from find_usable(external_id(conversation_id), conversation_id)
        if session is None:
            self._places.pop(conversation_id, None)
            return None
        is_known = conversation_id in self._places
        record = yield from self._record_of(conversation_id, session)
        if record is None and session.message_count and not is_known:
            _log.warning(OTHERS, conversation_id)
        return record

    def _record_of(self, conversation_id: str | None, session: Session) -> Operation[ConversationRecord | None]:
        record = yield from record_in(session)
        if record is not None and session.external_id != external_id(record.conversation_id):
            record = None  # A person made a copy of the session: it is not the conversation.
        if record is not None:
            conversation_id = record.conversation_id
            for tip in [record.head_id, *record.branches]:
                self._know_home(tip, session.id)
        if conversation_id is not None:
            revision = record.revision if record else None
            _remember(self._places, conversation_id, _Place(session.id, session.rev, revision, session.tags))
        return record

    def _list(self, scope: str | None, limit: int | None) -> Operation[list[ConversationRecord]]:
        found: list[ConversationRecord] = []
        cursor: str | None = None
        while limit is None or len(found) < limit:
            tags = [TAG] if scope is None else [scope_tag(scope)]
            page = yield from list_sessions(tag=tags, limit=MOST_READ, cursor=cursor, sort="-updated")
            for session in page.items:
                record = yield from self._record_of(None, session)
                found += [record] if record is not None and scope in {None, record.scope} else []
            cursor = page.next
            if cursor is None:
                break
        return sorted(found, key=lambda record: record.updated_at, reverse=True)[:limit]

    def _write(self, record: ConversationRecord, entries: Sequence[ConversationEntry], expected: str | None) -> Operation[None]:
        name = record.conversation_id
        place = self._places.get(name)
        if (None if place is None else place.revision) != expected:
            place = yield from self._place_now(name, expected)
        for _ in range(ATTEMPTS):
            try:
                yield from self._store(record, entries, place)
                return
            except StillhereError as error:
                if error.code not in {"rev_changed", "external_id_taken"} and error.status not in _NOT_THERE:
                    raise
            # Somebody changed the session: the record, or only its title.
            place = yield from self._place_now(name, expected)
        raise ConversationConflict(name)

    def _place_now(self, conversation_id: str, expected: str | None) -> Operation[_Place | None]:
        """Raises ConversationConflict if its revision is another one."""
        record = yield from self._read_record_now(conversation_id)
        if (None if record is None else record.revision) != expected:
            raise ConversationConflict(conversation_id)
        return self._places.get(conversation_id)

    def _store(self, record: ConversationRecord, entries: Sequence[ConversationEntry], place: _Place | None) -> Operation[None]:
        session, rev, _, present = place or _Place(str(uuid.uuid4()), 0, None, [])
        whole = [*(yield from self._copied(record, entries, session)), *entries]
        ops = [op for entry in whole for op in upserts_of_entry(entry)]
        create = None
        if place is None:
            name = external_id(record.conversation_id)
            create = {"project": self.client.connection.project, "external_id": name, "current": False}
        tags = tags_with([TAG] if record.scope is None else [TAG, scope_tag(record.scope)], present)
        metadata, beside = metadata_of(record)
        fields = without_none(metadata=metadata, tags=tags, head=record.head_id)
        requests = list(pieces([*ops, *beside]))
        for number, some in enumerate(requests, start=1):
            # The record comes with the last of its messages.
            body = without_none(if_rev=rev, base_rev=rev, create=create, session=fields if number == len(requests) else None)
            rev, create = (yield from save_whole(session, some, body, lambda _: "assistant")).rev, None
        _remember(self._places, record.conversation_id, _Place(session, rev, record.revision, tags or present))
        for entry in whole:
            self._know_home(entry.id, session)

    def _delete(self, conversation_id: str, expected: str) -> Operation[None]:
        place = self._places.get(conversation_id)
        for _ in range(ATTEMPTS):
            if place is None or place.revision != expected:
                place = yield from self._place_now(conversation_id, expected)
            if place is None:
                break
            try:
                query = {"purge": "1", "if_rev": str(place.rev)}
                yield Request("DELETE", session_path(place.session), query=query, repeatable=False)
            except StillhereError as error:
                if error.code != "rev_changed" and error.status not in _NOT_THERE:
                    raise
                place = None
                continue
            self._places.pop(conversation_id, None)
            for entry, home in list(self._homes.items()):  # A copy: other threads go on.
                if home == place.session:
                    self._homes.pop(entry, None)
            return
        raise ConversationConflict(conversation_id)

    # --- Entries.

    def _copied(
        self, record: ConversationRecord, entries: Sequence[ConversationEntry], session: str
    ) -> Operation[list[ConversationEntry]]:
        """What a new conversation shares with the one that it was forked from. Raises ConversationConflict if it is gone."""
        if record.head_id is None or record.head_id in {entry.id for entry in entries}:
            return []
        if record.forked_from is not None and record.head_id not in self._homes:
            yield from self._read_record_now(record.forked_from)
        if self._homes.get(record.head_id) == session:
            return []
        try:
            return (yield from self._path(record.head_id, None))
        except LookupError:
            raise ConversationConflict(record.conversation_id) from None

    def _history(self, head: str, limit: int | None) -> Operation[list[ConversationEntry]]:
        """If people cleared the session or removed its last message, what is left: the next entry follows that. Of a branch that
        ended so, nothing."""
        try:
            return (yield from self._path(head, limit))
        except LookupError:
            if head not in self._homes:
                raise
        try:
            session = yield from get_session(self._homes[head])
        except StillhereError as error:
            if error.status in _NOT_THERE:
                raise LookupError(head) from error
            raise
        record = yield from self._record_of(None, session)
        if record is None or head not in {record.head_id, *record.branches}:
            raise LookupError(head)
        return (yield from self._entries(session.id, None, limit)) if head == record.head_id else []

    def _path(self, head: str, limit: int | None) -> Operation[list[ConversationEntry]]:
        """From the first message, or the last `limit`, to `head`. Raises LookupError if it is not stored."""
        try:
            return (yield from self._entries((yield from self._home(head)), head, limit))
        except StillhereError as error:
            if error.status in _NOT_THERE or error.details.get("message") == head:
                raise LookupError(head) from error
            raise

    def _entries(self, session: str, head: str | None, limit: int | None) -> Operation[list[ConversationEntry]]:
        """`head`: None for the path that pages show."""
        found: list[list[Message]] = []
        left, before = limit, None
        while left is None or left > 0:
            query = without_none(head=head, limit=min(MOST_READ, left or MOST_READ), before=before)
            answer = yield Request("GET", f"{session_path(session)}/messages", query=query)
            found.append([Message.of(each) for each in answer["items"]])
            before = answer["next"]
            if before is None:
                break
            left = None if left is None else left - len(found[-1])
        messages = [message for some in reversed(found) for message in some if message.format in {FORMAT, PIECE_FORMAT}]
        entries: list[ConversationEntry] = []
        for message in messages:
            self._know_home(message.id, session)
            entries.append((yield from entry_in(session, message)))
        return entries

    def _entry(self, entry_id: str) -> Operation[ConversationEntry]:
        session = yield from self._home(entry_id)
        try:
            message = yield from read_message(session, entry_id)
        except StillhereError as error:
            if error.status in _NOT_THERE:
                raise LookupError(entry_id) from error
            raise
        if message is None:
            raise LookupError(entry_id)
        return (yield from entry_in(session, message))

    def _home(self, entry_id: str) -> Operation[str]:
        """The session of an entry. One that this store has not met since it was made is looked for in all conversations' tips."""
        if entry_id not in self._homes:
            yield from self._list(None, None)
        if entry_id not in self._homes:
            raise LookupError(entry_id)
        return self._homes[entry_id]

    def _know_home(self, entry_id: str | None, session: str) -> None:
        if entry_id is not None:
            _remember(self._homes, entry_id, session)


def _remember[V](known: OrderedDict[str, V], name: str, value: V) -> None:
    known[name] = value
    with suppress(KeyError):  # Another thread was faster.
        known.move_to_end(name)
        if len(known) > MOST_KNOWN:
            known.popitem(last=False)
