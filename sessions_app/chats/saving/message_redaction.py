"""Secrets in messages, by the project's setting: ignored (`off`), reported (`flag`) or removed (`redact`)."""

import re
from collections import Counter
from dataclasses import fields
from typing import Any

from sessions_app.chats.message_content import Content
from sessions_app.core.redaction import KEY_BEGINS, MARK, UNFINISHED_KEY, may_hold_secrets, redact, redact_text
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import stored_object, written_json
from sessions_app.models.project import FLAG, OFF, REDACT

# What is searched for secrets.
_SEARCHED = ("text", "parts", "metadata", "raw")
# Behind that of a private key, the beginning of the key's last line.
_MARK_AT_END = re.compile(rf"{re.escape(MARK)}(?P<kind>[a-z_]+)\](?P<end>(?:-[A-Z -]*)?)\Z")
_LONGEST_MARK = 120
# How a secret of a kind goes on, as `core/redaction.py` finds it in a whole text. Others go on like a word.
_LINE, _VALUE, _WORD = re.compile(r"[^\r\n'\"]*"), re.compile(r"[\w.~+/%!@#$^*=-]*"), re.compile(r"[\w-]*")
_GOES_ON = {
    **dict.fromkeys(("authorization", "cookie"), _LINE),
    **dict.fromkeys(("password", "secret", "token", "api_key", "bearer"), _VALUE),
}


def redact_message(content: Content, mode: str) -> Counter[str]:
    """Returns the secrets found, by kind. The content records them too and, in `redact`, no longer has them."""
    if mode == OFF:
        return Counter()
    text, in_text = redact_text(content.text)
    clean, found = {"text": text}, Counter(in_text)
    for name in ("parts", "metadata", "raw"):
        stored = getattr(content, name)
        if stored is None or not may_hold_secrets(stored):
            continue
        value, in_extra = redact(written_json(stored))
        clean[name] = json_text(value) if in_extra else stored
        # Parts repeat the text, and so does a framework's own message.
        found = found + Counter(in_extra) if name == "metadata" else found | Counter(in_extra)
    if found:
        content.flagged = json_text(dict(found))
        if mode == REDACT:
            for name, value in clean.items():
                setattr(content, name, value)
    return found


def redact_patched(content: Content, stored: Content, mode: str) -> Counter[str]:
    """As `redact_message`, for a message that a patch changed: returns what is in the changed fields.

    The content records the secrets that it has now or, where they are removed, those ever found in it.
    """
    if mode == REDACT:
        content.text = _without_rest(content.text, stored)
    changed = [name for name in _SEARCHED if getattr(content, name) != getattr(stored, name)]
    new = Content("", "", "")
    for name in changed:
        setattr(new, name, getattr(content, name))
    found = redact_message(new, mode)
    for name in changed:
        setattr(content, name, getattr(new, name))
    if mode == REDACT and found:
        earlier = Counter({kind: int(count) for kind, count in stored_object(stored.flagged).items()})
        content.flagged = json_text(dict(earlier | found))
    elif mode == FLAG and changed:
        _flag(content)
    return found


def _without_rest(text: str, stored: Content) -> str:
    """Without what is the rest of a secret that was removed at the end of the stored text, where an append continues it: alone it
    looks like no secret."""
    mark = _MARK_AT_END.search(stored.text[-_LONGEST_MARK:])
    if mark is None or mark["kind"] not in stored_object(stored.flagged) or not text.startswith(stored.text):
        return text
    rest = text[len(stored.text) :]
    if mark["kind"] == UNFINISHED_KEY:  # Where the key ends is found as in a whole text.
        return stored.text[: -len(mark[0])] + KEY_BEGINS + mark["end"] + rest
    # Each finds something at once, if only nothing.
    return text if mark["end"] else stored.text + _GOES_ON.get(mark["kind"], _WORD).sub("", rest, count=1)


def _flag(content: Content) -> None:
    known, content.flagged = content.flagged, None
    try:
        redact_message(content, FLAG)
    except (ValueError, RecursionError):
        content.flagged = known  # Damaged JSON is skipped when it is read.


def redact_stored_message(values: dict[str, Any], mode: str) -> Counter[str]:
    """As `redact_message`, for a stored row from an export. Secrets that its flag lists already are not reported again."""
    content = Content("", "", "")
    for field in fields(Content):
        if values.get(field.name) is not None:
            setattr(content, field.name, values[field.name])
    known = content.flagged
    try:
        found = redact_message(content, mode)
    except (ValueError, RecursionError):
        return Counter()  # Damaged JSON is skipped when it is read.
    if not found or (mode != REDACT and known is not None):
        return Counter()
    for field in fields(Content):
        if field.name in values or getattr(content, field.name) is not None:
            values[field.name] = getattr(content, field.name)
    if "size_bytes" in values:
        values["size_bytes"] = content.size_bytes  # Ignore the file's value.
    return found
