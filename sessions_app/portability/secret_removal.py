"""Refuses what no save stores, and redacts secrets in an imported file. Content without secrets stays byte for byte."""

import hashlib
import json
from typing import Any

from sessions_app.chats.files.content import clean_name
from sessions_app.chats.files.queries import digest_of
from sessions_app.chats.sessions.session_fields import WrongTags, tags_text
from sessions_app.core.redaction import may_hold_secrets, redact
from sessions_app.core.serialization.stored_json import read_json, read_object, read_value
from sessions_app.core.serialization.strict_json import UnreadableJson, clean_text, loads
from sessions_app.models.session import METADATA_BYTES

# As `Content.size_bytes`.
_COUNTED = ("text", "parts", "metadata", "raw")


class WrongValue(Exception):
    """A value that this column does not accept."""


def clean_state(values: dict[str, Any]) -> None:
    """Redacts agent and AI states, their versions, and actions."""
    for field in ("content", "resolution"):
        if field in values:
            values[field] = _without_secrets(values[field])


def clean_session(values: dict[str, Any]) -> None:
    """Refuses metadata and tags that the API would not accept. Accepted ones stay byte for byte."""
    metadata, tags = values.get("metadata"), values.get("tags")
    if metadata is not None and (read_object(metadata) is None or len(metadata.encode()) > METADATA_BYTES):
        raise WrongValue("metadata of a session has a wrong value")
    found = None if tags is None else read_value(tags)
    if tags is not None and not (
        isinstance(found, list) and all(isinstance(tag, str) and clean_text(tag) == tag for tag in found)
    ):
        raise WrongValue("tags of a session has a wrong value")
    try:
        tags_text(found or [])
    except WrongTags:
        raise WrongValue("tags of a session has a wrong value") from None


def clean_message(values: dict[str, Any]) -> None:
    """On the path is stored in one way: null. Its size is what it has, because quotas and windows go by it. Raises WrongValue."""
    check_json_of_message(values)
    values["aside"] = values.get("aside") or None
    values["size_bytes"] = sum(len(values[field].encode()) for field in _COUNTED if isinstance(values.get(field), str))


def check_json_of_message(values: dict[str, Any]) -> None:
    """Refuses what no save would have stored: it is sent to readers as it is, and converted. Raises WrongValue."""
    for field in ("parts", "metadata", "raw"):
        if not isinstance(stored := values.get(field), str):
            continue
        try:
            # These fields keep a NUL, and no other character that cannot be stored.
            value, replaced = loads(stored.encode(), within="metadata")
        except UnreadableJson as error:
            raise WrongValue(f"{field} of a message has a wrong value: {error.why}") from None
        if replaced:
            raise WrongValue(f"{field} of a message has a wrong value: a lone surrogate")
        if field == "parts" and not (isinstance(value, list) and all(isinstance(part, dict) for part in value)):
            raise WrongValue("parts of a message has a wrong value: no list of JSON objects")


def clean_session_file(values: dict[str, Any]) -> None:
    """A name as an upload would get it."""
    if digest_of(str(values.get("sha256"))) != values.get("sha256") or not isinstance(values.get("name"), str):
        raise WrongValue("session_file has a wrong value")
    values["name"] = clean_name(values["name"])


def clean_snapshot(values: dict[str, Any]) -> None:
    """Refuses a payload that does not match its hash. After a redaction the payload differs, so it gets
    a new hash."""
    payload = values.get("payload")
    if not isinstance(payload, str) or hashlib.sha256(payload.encode()).hexdigest() != values.get("sha256"):
        raise WrongValue(f"the payload of handoff_snapshot {values.get('number')} does not have its sha256")
    values["payload"] = _without_secrets(payload)
    if values["payload"] != payload:
        values["sha256"] = hashlib.sha256(values["payload"].encode()).hexdigest()


def _without_secrets(text: Any) -> Any:
    """The text without secrets. Invalid JSON stays as it is and is reported when it is read."""
    if not isinstance(text, str) or not may_hold_secrets(text):
        return text
    try:
        value, found = redact(read_json(text))
    except (ValueError, RecursionError):
        return text
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if found else text
