"""Validation of a save's ops: each message is checked on its own, so that an invalid one does not affect the rest."""

from dataclasses import dataclass, field, replace
from typing import Any

from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import quick_json, read_json
from sessions_app.models.message import EXTRA_BYTES, FORMAT_LENGTH, MESSAGE_ID_LENGTH, TEXT_LENGTH, Role, Status

ROLES, STATUSES = frozenset(Role.values), frozenset({Status.STREAMING.value, Status.COMPLETE.value, Status.INTERRUPTED.value})


# Fields that a read adds to a message. A client may send them back; they are ignored.
AS_READ = {"ver", "rev", "created_at", "updated_at", "position", "flagged"}
# What one pop takes at most.
MOST_POPPED = 500
_UPSERT = {"op", "id", "role", "text", "parts", "metadata", "format", "raw", "parent_id", "status", "if_ver"}
# The fields that each op has.
FIELDS = {
    "upsert": _UPSERT | AS_READ,
    "patch": _UPSERT,
    "delete": {"op", "id", "if_ver"},
    "truncate": {"op", "after"},
    "pop": {"op", "n"},
}
# Sentences for rejected messages, by reason.
REASONS = {
    "not_an_object": "An operation is a JSON object.",
    "unknown_op": "`op` is upsert, patch, delete, truncate or pop.",
    "unknown_message": "There is no such message in this session.",
    "bad_after": "`after` is a message id, or null for all.",
    "bad_n": f"`n` is a whole number from 1 to {MOST_POPPED}.",
    "pop_in_beacon": "A beacon has no answer that could return the messages: send a pop to `changes`.",
    "text_in_parts": "The text of this message is in several of its parts: send `parts`.",
    "bad_id": "`id` is a text of at least one character.",
    "id_too_long": f"`id` has at most {MESSAGE_ID_LENGTH} characters.",
    "bad_if_ver": "`if_ver` is a whole number.",
    "bad_role": "`role` is user or assistant; instructions and tool results go into `parts`, `metadata` or `raw`.",
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

    def __init__(self, reason: str, field: str | None = None) -> None:
        self.reason, self.message, self.field = reason, REASONS[reason], field
        super().__init__(reason)


@dataclass(slots=True)
class Content:
    """A message's content as it is stored: JSON as text, None = was absent."""

    role: str
    text: str
    status: str
    parts: str | None = None
    metadata: str | None = None
    format: str | None = None
    raw: str | None = None
    parent_id: str | None = None
    # Found by the project's redaction; not part of the sent content.
    flagged: str | None = None

    @property
    def size_bytes(self) -> int:
        """UTF-8 bytes of text and extras, as counted in the sizes of windows and sessions."""
        extras = sum(len(extra.encode()) for extra in (self.parts, self.metadata, self.raw) if extra is not None)
        return len(self.text.encode()) + extras

    def same_beside_status(self, other: "Content") -> bool:
        return self._beside_status() == other._beside_status()

    def _beside_status(self) -> tuple[str | None, ...]:
        return (self.role, self.text, self.parts, self.metadata, self.format, self.raw, self.parent_id)

    def holds(self, sent: "Content") -> bool:
        """True if this content already contains all that was sent.

        Its text must be a prefix of ours. Parts that are more than text (tools, files) must equal ours; only for an
        assistant's message with text, which several clients may save while it grows, the text alone decides.
        """
        if not self.text.startswith(sent.text):
            return False
        if sent.parts in {None, self.parts} or sent.parts_are_text:
            return True
        return self.role == Role.ASSISTANT and sent.text != ""

    @property
    def parts_are_text(self) -> bool:
        """True if the parts contain nothing beyond the text."""
        return self.parts is None or all(set(part) <= {"type", "text"} for part in quick_json(self.parts))


@dataclass(slots=True)
class Upsert:
    message_id: str
    content: Content
    if_ver: int | None


@dataclass(slots=True)
class Patch:
    """The fields that a patch names, as they are stored: None removes one."""

    message_id: str
    if_ver: int | None
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def is_growth(self) -> bool:
        """True if it names the text, and else only what grows with it while an answer is streamed.

        Whoever does not name the text may not know the stored one, and must not become its writer.
        """
        return "text" in self.fields and self.fields.keys() <= {"text", "parts", "status"}

    @property
    def has_text(self) -> bool:
        return not self.fields.keys().isdisjoint({"text", "parts"})


def read_upsert(op: dict[str, Any]) -> Upsert:
    """Returns the validated op. Raises `Rejected` with the reason for the answer."""
    message_id = read_id(op.get("id"))
    role, status = _role(op.get("role")), _status(op.get("status", Status.COMPLETE.value))
    parts = _parts(op.get("parts"))
    text = op.get("text")
    if text is None and parts is None and "content" in op:
        raise Rejected("no_text")
    text = _text("".join(_texts(parts)) if text is None else text)
    content = Content(
        role, text, status, format=_short(op, "format", FORMAT_LENGTH), parent_id=_short(op, "parent_id", MESSAGE_ID_LENGTH)
    )
    _read_extras(op, content)
    return Upsert(message_id, content, read_if_ver(op))


def read_patch(op: dict[str, Any]) -> Patch:
    """Returns the validated op. Raises `Rejected`. An explicit null removes an optional field, `raw` too."""
    patch = Patch(read_id(op.get("id")), read_if_ver(op))
    for name, read in (("role", _role), ("status", _status), ("text", _text)):
        if name in op:
            patch.fields[name] = read(op[name])
    _parts(op.get("parts"))
    for name in ("parts", "metadata", "raw"):
        if name in op:
            patch.fields[name] = None if op[name] is None else json_text(op[name])
    for name, length in (("format", FORMAT_LENGTH), ("parent_id", MESSAGE_ID_LENGTH)):
        if name in op:
            patch.fields[name] = _short(op, name, length)
    return patch


def patched(stored: Content, patch: Patch) -> Content:
    """The content with the patch's fields; the others stay, but text and parts that agreed still agree. Raises `Rejected`."""
    content = replace(stored, **patch.fields)
    parts = _stored_parts(stored)
    if parts is not None and stored.text != "".join(_texts(parts)):
        return _checked(content)
    if "text" not in patch.fields and patch.fields.get("parts"):
        # Parts without a text do not empty the message: its text was left out, so it stays.
        content.text = _text("".join(_texts(read_json(patch.fields["parts"]))) or stored.text)
    elif "parts" not in patch.fields and parts is not None and content.text != stored.text:
        content.parts = json_text(_with_text(parts, content.text))
    return _checked(content)


def _stored_parts(stored: Content) -> list[dict[str, Any]] | None:
    """None if there are none, or if the stored value is damaged."""
    try:
        return None if stored.parts is None else _parts(read_json(stored.parts))
    except (ValueError, RecursionError, Rejected):
        return None


def _with_text(parts: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    if len(_texts(parts)) > 1:
        raise Rejected("text_in_parts")
    return [{**part, "text": text} if _texts([part]) else part for part in parts]


def _checked(content: Content) -> Content:
    if content.size_bytes - len(content.text.encode()) > EXTRA_BYTES:
        raise Rejected("too_large")
    return content


def read_count(op: dict[str, Any]) -> int:
    """How many messages a pop takes; one if it does not say."""
    count = op.get("n", 1)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_POPPED:
        raise Rejected("bad_n")
    return count


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


def read_if_ver(op: dict[str, Any]) -> int | None:
    value = op.get("if_ver")
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise Rejected("bad_if_ver")
    return value


def _role(value: Any) -> str:
    if not isinstance(value, str) or value not in ROLES:
        raise Rejected("bad_role")
    return value


def _status(value: Any) -> str:
    if not isinstance(value, str) or value not in STATUSES:
        raise Rejected("bad_status")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Rejected("bad_text")
    if len(value) > TEXT_LENGTH:
        raise Rejected("text_too_long")
    return value


def _parts(value: Any) -> list[dict[str, Any]] | None:
    if value is not None and not (isinstance(value, list) and all(isinstance(part, dict) for part in value)):
        raise Rejected("bad_parts")
    return value


def _read_extras(op: dict[str, Any], content: Content) -> None:
    total = 0
    for name in ("parts", "metadata", "raw"):
        # An explicit null is a value for `raw`, and means absent for the others.
        if name in op and (op[name] is not None or name == "raw"):
            stored = json_text(op[name])
            total += len(stored.encode())
            setattr(content, name, stored)
    if total > EXTRA_BYTES:
        raise Rejected("too_large")


def _texts(parts: list[dict[str, Any]] | None) -> list[str]:
    return [part["text"] for part in parts or [] if part.get("type") == "text" and isinstance(part.get("text"), str)]


def _short(op: dict[str, Any], name: str, length: int) -> str | None:
    value = op.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > length:
        raise Rejected(f"bad_{name}")
    return value
