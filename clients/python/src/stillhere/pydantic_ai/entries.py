"""Entries and records of conversations, as messages and metadata of a session."""

import hashlib
import json
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.messages import ModelMessagesTypeAdapter

from stillhere.connection import Operation
from stillhere.errors import StillhereError
from stillhere.http.json_texts import as_json, fits_json
from stillhere.operations.long_objects import MOST_BYTES, format_of_pieces, read_object, upserts_of
from stillhere.operations.records import Message, Session
from stillhere.operations.sessions import read_message

FORMAT = TAG = MEMBER = "pydantic-ai"
PIECE_FORMAT = format_of_pieces(FORMAT)
LONGEST_EXTERNAL_ID, LONGEST_MESSAGE_ID = 128, 64
# The session's metadata has 16 KB. A longer record is a message of its own, beside the path.
MOST_IN_METADATA, RECORD_MESSAGE, RECORD_FORMAT = 12_000, "pydantic-ai-record", "pydantic-ai.record"
BAD_ID = "The id of an entry has 1 to 64 characters, of one above 900 KB at most 60. Nothing was stored."
RECORD_TOO_LONG = "The record of a conversation, above all its deferred tool requests, has at most 900 KB. Nothing was stored."
_RECORD: TypeAdapter[ConversationRecord] = TypeAdapter(ConversationRecord)


def metadata_of(record: ConversationRecord) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The metadata, and what is stored beside them. A text, because metadata are merged and a record is replaced. Raises
    StillhereError for a record that is too long."""
    text = _RECORD.dump_json(record).decode()
    if len(json.dumps(text)) <= MOST_IN_METADATA:
        return {MEMBER: text}, []
    if len(as_json(text)) > MOST_BYTES:
        raise StillhereError(413, "record_too_long", RECORD_TOO_LONG, {})
    shown = {"role": "system", "text": "Record of the conversation", "parent_id": None}
    return {MEMBER: True}, [{"op": "upsert", "id": RECORD_MESSAGE, "format": RECORD_FORMAT, "raw": text, **shown}]


def record_in(session: Session) -> Operation[ConversationRecord | None]:
    text = session.metadata.get(MEMBER)
    if text is True:
        message = yield from read_message(session.id, RECORD_MESSAGE)
        text = None if message is None else message.raw
    return _RECORD.validate_json(text) if isinstance(text, str) else None


def upserts_of_entry(entry: ConversationEntry) -> list[dict[str, Any]]:
    """The operations that store it. One that a message cannot hold is several messages: the others are beside the path. Raises
    StillhereError for an id that no message can have."""
    (raw,) = ModelMessagesTypeAdapter.dump_python([entry.message], mode="json")
    stored = {"id": entry.id, "parent_id": entry.parent_id, "format": FORMAT, "raw": raw}
    ops = [{"op": "upsert", **stored}]
    if not fits_json(raw) or len(as_json(raw)) > MOST_BYTES:
        first, *others = upserts_of({**stored, **_shown(raw)})
        ops = [first, *({**op, "parent_id": None} for op in others)]
    for op in ops:
        if not 0 < len(op["id"]) <= LONGEST_MESSAGE_ID:
            raise StillhereError(422, "bad_id", BAD_ID, {"id": op["id"]})
    return ops


def entry_in(session: str, message: Message) -> Operation[ConversationEntry]:
    """Raises LookupError if one of its other messages is gone."""
    raw = message.raw
    if message.format == PIECE_FORMAT:
        raw = yield from read_object(session, message.id, FORMAT, message.raw["of"])
    (read,) = ModelMessagesTypeAdapter.validate_json(_whole_characters(json.dumps([raw], ensure_ascii=False)))
    return ConversationEntry(id=message.id, parent_id=message.parent_id, message=read)


def _whole_characters(text: str) -> str:
    """Halves of characters, which a message of several pieces may have, become U+FFFD, as the server makes them in all others:
    Pydantic reads none."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _shown(raw: dict[str, Any]) -> dict[str, str]:
    """The role and the texts of a long message, without its files."""
    parts = raw["parts"]
    contents = [part["content"] if isinstance(part.get("content"), list) else [part.get("content")] for part in parts]
    text = "\n".join(each for content in contents for each in content if isinstance(each, str))
    is_answered = all(part["part_kind"] == "tool-return" for part in parts)
    return {"role": "assistant" if raw["kind"] == "response" else "tool" if is_answered else "user", "text": text}


def external_id(conversation_id: str) -> str:
    if 0 < len(conversation_id) <= LONGEST_EXTERNAL_ID:
        return conversation_id
    return f"sha256:{hashlib.sha256(conversation_id.encode()).hexdigest()}"


def scope_tag(scope: str) -> str:
    return f"scope:{hashlib.sha256(scope.encode()).hexdigest()[:32]}"
