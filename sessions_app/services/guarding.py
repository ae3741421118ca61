"""Secrets in messages, as the project's setting wants it: left alone (`off`), pointed out (`flag`), taken out (`redact`)."""

from collections import Counter
from dataclasses import fields
from typing import Any

from sessions_app.models.project import OFF, REDACT
from sessions_app.queries.states import read_json
from sessions_app.redaction import may_hold_secrets, redact, redact_text
from sessions_app.services.json_text import json_text
from sessions_app.services.sent import Content


def guard(content: Content, mode: str) -> Counter[str]:
    """How many of which kind were found. The content says so too and, in `redact`, no longer has them."""
    if mode == OFF:
        return Counter()
    text, in_text = redact_text(content.text)
    clean, found = {"text": text}, Counter(in_text)
    for name in ("parts", "metadata", "raw"):
        stored = getattr(content, name)
        if stored is None or not may_hold_secrets(stored):
            continue
        value, in_extra = redact(read_json(stored))
        clean[name] = json_text(value) if in_extra else stored
        # Parts say once more what the text says.
        found = found | Counter(in_extra) if name == "parts" else found + Counter(in_extra)
    if found:
        content.flagged = json_text(dict(found))
        if mode == REDACT:
            for name, value in clean.items():
                setattr(content, name, value)
    return found


def guard_stored(values: dict[str, Any], mode: str) -> Counter[str]:
    """The same for a stored row as an export tells of it. What its flag knows of already is pointed out already."""
    content = Content("", "", "")
    for field in fields(Content):
        if values.get(field.name) is not None:
            setattr(content, field.name, values[field.name])
    known = content.flagged
    try:
        found = guard(content, mode)
    except (ValueError, RecursionError):
        return Counter()  # JSON that is damaged is left out when it is read.
    if not found or (mode != REDACT and known is not None):
        return Counter()
    for field in fields(Content):
        if field.name in values or getattr(content, field.name) is not None:
            values[field.name] = getattr(content, field.name)
    if "size_bytes" in values:
        values["size_bytes"] = content.size_bytes  # Whatever the file says of it.
    return found
