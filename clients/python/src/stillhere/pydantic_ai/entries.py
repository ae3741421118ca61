"""Entries and records of conversations, as messages and metadata of a session."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.messages import ModelMessagesTypeAdapter

from stillhere.connection import Operation
from stillhere.errors import StillhereError
from stillhere.operations.projects import session_path
from stillhere.operations.records import Message, Saved, Session
from stillhere.operations.saving import once
from stillhere.operations.sessions import read_message

FORMAT = TAG = MEMBER = "pydantic-ai"
LONGEST_EXTERNAL_ID, PREVIEW_CHARACTERS = 128, 1_000
# The session's metadata has 16 KB. A longer record is a message of its own, beside the path.
MOST_IN_METADATA, RECORD_MESSAGE, RECORD_FORMAT = 12_000, "pydantic-ai-record", "pydantic-ai.record"
_RECORD: TypeAdapter[ConversationRecord] = TypeAdapter(ConversationRecord)
# The message itself is stored all the same, with a text that the client writes.
_UNREADABLE = {"unreadable_raw", "text_too_long"}


def metadata_of(record: ConversationRecord) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The metadata, and what is stored beside them. A text, because metadata are merged and a record is replaced."""
    text = _RECORD.dump_json(record).decode()
    if len(json.dumps(text)) <= MOST_IN_METADATA:
        return {MEMBER: text}, []
    shown = {"role": "system", "text": "Record of the conversation", "parent_id": None}
    return {MEMBER: True}, [{"op": "upsert", "id": RECORD_MESSAGE, "format": RECORD_FORMAT, "raw": text, **shown}]


def record_in(session: Session) -> Operation[ConversationRecord | None]:
    text = session.metadata.get(MEMBER)
    if text is True:
        message = yield from read_message(session.id, RECORD_MESSAGE)
        text = None if message is None else message.raw
    return _RECORD.validate_json(text) if isinstance(text, str) else None


def sent(session: str, body: dict[str, Any]) -> Operation[Saved]:
    return Saved.of((yield once(f"{session_path(session)}/changes", body)))


def store_unread(session: str, ops: Sequence[Any], saved: Saved) -> Operation[int]:
    """Stores what the server cannot read with a text of the client's, and returns the `rev`. Raises StillhereError for what it
    cannot store."""
    reasons = {each.get("id"): each for each in saved.rejected}
    hopeless = [each for each in saved.rejected if each["reason"] not in _UNREADABLE]
    if hopeless:
        raise StillhereError(422, "rejected", hopeless[0]["message"], {"rejected": hopeless})
    again = [{**op, "role": "assistant", "text": json.dumps(op["raw"])[:PREVIEW_CHARACTERS]} for op in ops if op["id"] in reasons]
    return (yield from sent(session, {"ops": again})).rev


def upsert_of(entry: ConversationEntry) -> dict[str, Any]:
    (raw,) = ModelMessagesTypeAdapter.dump_python([entry.message], mode="json")
    return {"op": "upsert", "id": entry.id, "parent_id": entry.parent_id, "format": FORMAT, "raw": raw}


def entry_of(message: Message) -> ConversationEntry:
    (read,) = ModelMessagesTypeAdapter.validate_json(json.dumps([message.raw]))
    return ConversationEntry(id=message.id, parent_id=message.parent_id, message=read)


def external_id(conversation_id: str) -> str:
    if 0 < len(conversation_id) <= LONGEST_EXTERNAL_ID:
        return conversation_id
    return f"sha256:{hashlib.sha256(conversation_id.encode()).hexdigest()}"


def scope_tag(scope: str) -> str:
    return f"scope:{hashlib.sha256(scope.encode()).hexdigest()[:32]}"
