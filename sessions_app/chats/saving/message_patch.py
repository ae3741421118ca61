"""Patches, appends, truncates and pops as they are sent.

A patch is an upsert of the stored message with the fields that it names, an append a patch of the text.
"""

from dataclasses import dataclass, replace
from typing import Any

from sessions_app.chats.message_content import Content
from sessions_app.chats.saving.message_input import (
    MOST_POPPED,
    Rejected,
    Seen,
    check_size,
    read_id,
    read_message,
    read_seen,
    text_in,
    texts_of,
)
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import written_json
from sessions_app.formats.registry import format_of
from sessions_app.models.message import TEXT_LENGTH

_NAMES = ("role", "text", "status", "parts", "metadata", "format", "raw", "parent_id")


@dataclass(frozen=True, slots=True)
class Patch:
    """`named`: the fields that change, as they were sent. An explicit null removes an optional one, `raw` too."""

    message_id: str
    seen: Seen
    named: dict[str, Any]

    @property
    def is_growth(self) -> bool:
        """True if it names the text, and else only what grows with it while an answer is streamed.

        A writer that does not name the text may not know the stored one, and must not become its writer.
        """
        return "text" in self.named and self.named.keys() <= {"text", "parts", "status"}

    @property
    def has_text(self) -> bool:
        return not self.named.keys().isdisjoint({"text", "parts"})


@dataclass(frozen=True, slots=True)
class Append:
    """`at`: the length of the text that `text` follows, in Unicode code points."""

    message_id: str
    seen: Seen
    at: int
    text: str

    def repeats(self, stored: str) -> bool:
        """True if the stored text has this piece at this place already."""
        return stored.startswith(self.text, self.at) and self.at <= len(stored)

    def as_patch(self, stored: str) -> Patch:
        """Of the text as its sender knows it."""
        return Patch(self.message_id, self.seen, {"text": stored[: self.at] + self.text})


def read_append(op: dict[str, Any]) -> Append:
    """Raises `Rejected`."""
    message_id, seen, at, text = read_id(op.get("id")), read_seen(op), op.get("at"), op.get("text")
    if not isinstance(at, int) or isinstance(at, bool) or at < 0:
        raise Rejected("bad_at")
    if not isinstance(text, str):
        raise Rejected("bad_text")
    return Append(message_id, seen, at, text)


def read_after(op: dict[str, Any]) -> str | None:
    """Of a truncate. `null` removes everything, so it must be explicit: a field that a client forgot must not empty a chat."""
    if "after" not in op:
        raise Rejected("bad_after")
    return None if op["after"] is None else read_id(op["after"])


def read_patch(op: dict[str, Any]) -> Patch:
    """Its fields are validated with the message. Raises `Rejected`."""
    return Patch(read_id(op.get("id")), read_seen(op), {name: op[name] for name in _NAMES if name in op})


def read_count(op: dict[str, Any]) -> int:
    """How many messages a pop takes; one if it does not say."""
    count = op.get("n", 1)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_POPPED:
        raise Rejected("bad_n")
    return count


def patched(stored: Content, patch: Patch) -> Content:
    """The content with the patch's fields; the others stay, but text and parts that agreed still agree. Raises `Rejected`."""
    if patch.named.get("text", "") is None:
        raise Rejected("bad_text")
    follow = _follow_raw(stored, patch)
    known = {name: getattr(stored, name) for name in ("role", "text", "status", "format", "parent_id") if name not in follow}
    read = read_message({**known, **patch.named, "id": patch.message_id}).content
    content = replace(stored)
    for name in (*patch.named, *follow):
        setattr(content, name, None if patch.named.get(name, "") is None else getattr(read, name))
    if "text" not in follow:
        _keep_together(stored, content, patch)
    if len(content.text) > TEXT_LENGTH:
        raise Rejected("text_too_long")
    check_size(content, derived=_may_be_derived(content, patch))
    return content


def _may_be_derived(content: Content, patch: Patch) -> bool:
    """True if the parts may be those of `raw`."""
    return content.raw is not None and format_of(content.format) is not None and patch.named.get("parts") is None


def _follow_raw(stored: Content, patch: Patch) -> tuple[str, ...]:
    """The fields that a new `raw` of a known format changes with it, unless the patch names them."""
    form = patch.named.get("format", stored.format)
    if patch.named.get("raw") is None or not isinstance(form, str) or format_of(form) is None:
        return ()
    if patch.has_text:
        return () if "role" in patch.named else ("role",)
    return tuple(name for name in ("role", "text", "parts") if name not in patch.named)


def _keep_together(stored: Content, content: Content, patch: Patch) -> None:
    """Where the parts have the text, change the one with the other."""
    parts = _parts_of(stored)
    if parts is not None and stored.text != text_in(parts):
        return
    if "text" not in patch.named and patch.named.get("parts"):
        # Parts without a text do not empty the message: its text was left out, so it stays.
        content.text = text_in(patch.named["parts"]) or stored.text
    elif "parts" not in patch.named and parts is not None and content.text != stored.text:
        if len(texts_of(parts)) > 1:
            raise Rejected("text_in_parts")
        content.parts = json_text([_with_text(part, content.text) if texts_of([part]) else part for part in parts])


def _with_text(part: dict[str, Any], text: str) -> dict[str, Any]:
    """A text part with another text, which OpenAI's assistants have as `value` of an object."""
    old = part["text"]
    return {**part, "text": {**old, "value": text} if isinstance(old, dict) else text}


def _parts_of(stored: Content) -> list[Any] | None:
    """None if there are none, or if the stored value is damaged."""
    try:
        parts = None if stored.parts is None else written_json(stored.parts)
    except (ValueError, RecursionError):
        return None
    return parts if isinstance(parts, list) else None
