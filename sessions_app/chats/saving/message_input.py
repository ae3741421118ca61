"""Validation of a save's ops: each message is checked on its own, so that an invalid one does not affect the rest."""

from dataclasses import dataclass
from typing import Any

from sessions_app.chats.message_content import Content
from sessions_app.chats.reading.frameworks.framework_messages import Reading, read_raw, roles_of
from sessions_app.core.id_parsing import WHY_NO_DOTS
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.formats.fields import Unreadable
from sessions_app.formats.neutral import text_of
from sessions_app.formats.registry import FORMATS
from sessions_app.models.message import (
    EXTRA_BYTES,
    FORMAT_LENGTH,
    MESSAGE_ID_LENGTH,
    TEXT_LENGTH,
    Status,
)

STATUSES = frozenset({Status.STREAMING.value, Status.COMPLETE.value, Status.INTERRUPTED.value})


# Fields that a read adds to a message. A client may send them back; they are ignored.
AS_READ = {"ver", "rev", "created_at", "updated_at", "position", "flagged"}
_UPSERT = {"op", "id", "role", "text", "parts", "metadata", "format", "raw", "parent_id", "status", "if_ver", "if_write"}
# What one request pops at most.
MOST_POPPED = 500
# The fields that each op has.
FIELDS = {
    "upsert": _UPSERT | AS_READ,
    "patch": _UPSERT,
    "delete": {"op", "id", "if_ver", "if_write"},
    "truncate": {"op", "after"},
    "pop": {"op", "n"},
    "append": {"op", "id", "at", "text", "if_ver"},
}
# Sentences for rejected messages, by reason.
REASONS = {
    "not_an_object": "An operation is a JSON object.",
    "unknown_op": "`op` is upsert, patch, append, delete, truncate or pop.",
    "unknown_message": "There is no such message in this session.",
    "bad_after": "`after` is a message id, or null for all.",
    "bad_n": f"`n` is a whole number from 1 to {MOST_POPPED}.",
    "pop_in_beacon": "A beacon has no answer that could return the messages: send a pop to `changes`.",
    "bad_at": "`at` is a whole number: the length of the stored text in Unicode code points.",
    "text_in_parts": "The text of this message is in several of its parts: send `parts`.",
    "bad_id": "`id` is a text of at least one character.",
    "dots_as_id": f"`id` of a new message cannot be `.` or `..`: {WHY_NO_DOTS}",
    "id_too_long": f"`id` has at most {MESSAGE_ID_LENGTH} characters.",
    "bad_if_ver": "`if_ver` is a whole number.",
    "bad_if_write": "`if_write` has a `writer_id`, which is a text, and a `seq`, which is a whole number.",
    "bad_role": "`role` is user or assistant or, with a `format`, one of its roles.",
    "unknown_format": f"`format` is none of {', '.join(sorted(FORMATS))}: for another one send `role` and `text` as well.",
    "unreadable_raw": "`raw` is not a message of this `format`.",
    "bad_status": "`status` is streaming, complete or interrupted.",
    "bad_parts": "`parts` is a list of JSON objects.",
    "bad_text": "`text` is a text.",
    "no_text": "The text of a message belongs in `text` or `parts`, not in `content`.",
    "text_too_long": f"`text` has at most {TEXT_LENGTH:,} characters.",
    "too_large": f"`parts`, `metadata` and `raw` have at most {EXTRA_BYTES:,} bytes together.",
    "bad_format": f"`format` is a text of at most {FORMAT_LENGTH} characters.",
    "unknown_field": "There is no such field. Put other data into `metadata` or, with its `format`, into `raw`.",
    "bad_parent_id": f"`parent_id` is a text of at most {MESSAGE_ID_LENGTH} characters.",
}


class Rejected(Exception):
    """This message is rejected; the others are saved."""

    def __init__(self, reason: str, field: str | None = None, why: str = "") -> None:
        self.reason, self.message, self.field = reason, f"{REASONS[reason]} {why}".rstrip(), field
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a writer says that it has seen of a message: a version, and what another writer wrote up to its request `seq`."""

    ver: int | None = None
    writer_id: str | None = None
    seq: int = 0


@dataclass(slots=True)
class Upsert:
    message_id: str
    content: Content
    seen: Seen


def read_upsert(op: dict[str, Any]) -> Upsert:
    """Returns the validated op. Raises `Rejected` with the reason for the answer."""
    sent = read_message(op)
    check_fields(op)
    return sent


def read_message(op: dict[str, Any]) -> Upsert:
    """As `read_upsert`, but unknown fields are ignored."""
    message_id = read_id(op.get("id"))
    name, extras = _short(op, "format", FORMAT_LENGTH), _read_extras(op)
    own = _own_reading(op, name)
    role, status = op.get("role", own and own.role), op.get("status", Status.COMPLETE.value)
    if not isinstance(role, str) or role not in roles_of(name):
        raise Rejected("unknown_format" if _is_misspelt(op, name) else "bad_role")
    if not isinstance(status, str) or status not in STATUSES:
        raise Rejected("bad_status")
    text = _read_text(op, own)
    content = Content(role, text, status, format=name, parent_id=_read_parent(op), **extras)
    if own is not None and own.parts is not None and op.get("text") is None and op.get("parts") is None:
        content.parts = json_text(own.parts)
        check_size(content, derived=True)
    return Upsert(message_id, content, read_seen(op))


def _own_reading(op: dict[str, Any], name: str | None) -> Reading | None:
    """What `raw` says, if its format is known. It need not be readable if the op says who speaks, and what."""
    try:
        return read_raw(name, op.get("raw"))
    except Unreadable as error:
        if "role" in op and not (op.get("text") is None and op.get("parts") is None):
            return None
        raise Rejected("unreadable_raw", why=str(error)) from None


def _is_misspelt(op: dict[str, Any], name: str | None) -> bool:
    """Was the role to follow from `raw`, though nobody knows the format?"""
    return name is not None and name not in FORMATS and "role" not in op


def _read_text(op: dict[str, Any], own: Reading | None) -> str:
    """The text that was sent, or that of the parts that were sent, or of `raw`."""
    parts, text = op.get("parts"), op.get("text")
    if parts is not None and not (isinstance(parts, list) and all(isinstance(part, dict) for part in parts)):
        raise Rejected("bad_parts")
    if text is None and parts is None:
        if own is None and "content" in op:
            raise Rejected("no_text")
        text = "" if own is None else own.text
    if text is None:
        text = text_in(parts or [])
    if not isinstance(text, str):
        raise Rejected("bad_text")
    if len(text) > TEXT_LENGTH:
        raise Rejected("text_too_long")
    return text


def check_fields(op: dict[str, Any]) -> None:
    """Reject unknown fields: they would be lost, or are misspelt."""
    unknown = next((name for name in op if name not in FIELDS[op["op"]]), None)
    if unknown is not None:
        raise Rejected("unknown_field", field=unknown[:MESSAGE_ID_LENGTH])


def read_id(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise Rejected("bad_id")
    if len(value) > MESSAGE_ID_LENGTH:
        raise Rejected("id_too_long")
    return value


def read_seen(op: dict[str, Any]) -> Seen:
    """Of `if_ver` and `if_write`. Raises `Rejected`."""
    ver, write = op.get("if_ver"), op.get("if_write")
    if ver is not None and not _is_whole(ver):
        raise Rejected("bad_if_ver")
    if write is None:
        return Seen(ver)
    if not isinstance(write, dict) or write.keys() != {"writer_id", "seq"}:
        raise Rejected("bad_if_write")
    if not isinstance(write["writer_id"], str) or not _is_whole(write["seq"]):
        raise Rejected("bad_if_write")
    return Seen(ver, write["writer_id"], write["seq"])


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def check_size(content: Content, *, derived: bool) -> None:
    """`derived`: the parts follow from `raw`, so they are not among what was sent. They have a limit too, because a short
    `raw` can have very many small parts."""
    parts, others = _bytes_of(content.parts), _bytes_of(content.metadata) + _bytes_of(content.raw)
    if (others if derived else others + parts) > EXTRA_BYTES or others + parts > 2 * EXTRA_BYTES:
        raise Rejected("too_large")


def _bytes_of(text: str | None) -> int:
    return 0 if text is None else len(text.encode())


def _read_extras(op: dict[str, Any]) -> dict[str, str]:
    """`parts`, `metadata` and `raw` as they are stored, checked before anything is read from them."""
    # An explicit null is a value for `raw`, and means absent for the others.
    sent = [name for name in ("parts", "metadata", "raw") if name in op and (op[name] is not None or name == "raw")]
    stored: dict[str, str] = {name: json_text(op[name]) for name in sent}
    if sum(len(text.encode()) for text in stored.values()) > EXTRA_BYTES:
        raise Rejected("too_large")
    return stored


def text_in(parts: list[Any]) -> str:
    return clean_text("".join(texts_of(parts)))


def texts_of(parts: list[Any]) -> list[str]:
    """The texts of the text parts, as pages and exports find them."""
    found = (text_of(part) for part in parts if isinstance(part, dict))
    return [text for text in found if text is not None]


def _read_parent(op: dict[str, Any]) -> str | None:
    """'' for an explicit null: the message follows none. None: it does not say what it follows."""
    return "" if "parent_id" in op and op["parent_id"] is None else _short(op, "parent_id", MESSAGE_ID_LENGTH)


def _short(op: dict[str, Any], name: str, length: int) -> str | None:
    value = op.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > length:
        raise Rejected(f"bad_{name}")
    return value
