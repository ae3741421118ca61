"""Metadata and tags of a session, as they are stored: JSON as text, None for none."""

from typing import Any

from sessions_app.core.errors import Invalid, TooLarge
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import stored_object
from sessions_app.models.session import METADATA_BYTES, MOST_TAGS, TAG_LENGTH


class MetadataTooLarge(TooLarge):
    def __init__(self, found: int) -> None:
        message = f"A session's `metadata` has at most {METADATA_BYTES:,} bytes as compact JSON."
        super().__init__(message, details={"field": "metadata", "limit": METADATA_BYTES, "found": found})


class WrongTags(Invalid):
    def __init__(self, reason: str) -> None:
        super().__init__(f"`tags`: {reason}", details={"field": "tags"})


def metadata_text(metadata: dict[str, Any]) -> str | None:
    if not metadata:
        return None
    stored = json_text(metadata)
    if (size := len(stored.encode())) > METADATA_BYTES:
        raise MetadataTooLarge(size)
    return stored


def patched_metadata(stored: str | None, patch: dict[str, Any] | None) -> str | None:
    """The stored metadata after a JSON Merge Patch (RFC 7396): null removes a member, None removes all."""
    return None if patch is None else metadata_text(_merged(stored_object(stored), patch))


def tags_text(tags: list[str]) -> str | None:
    """In this order. Raises WrongTags."""
    if len(tags) > MOST_TAGS:
        raise WrongTags(f"a session has at most {MOST_TAGS}.")
    if any(not 1 <= len(tag) <= TAG_LENGTH for tag in tags):
        raise WrongTags(f"a tag has 1 to {TAG_LENGTH} characters.")
    if len(set(tags)) < len(tags):
        raise WrongTags("a tag is named twice.")
    return json_text(tags) if tags else None


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    made = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = _merged(made.get(name), value)
    return made
