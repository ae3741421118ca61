"""Secrets in a file's states and handoffs do not come in, whoever wrote the file. Content without any stays byte for byte."""

import hashlib
import json
from typing import Any

from sessions_app.queries.messages import read_json
from sessions_app.redaction import may_hold_secrets, redact


def clean_state(values: dict[str, Any]) -> None:
    """Of agent and AI states, their versions, and actions."""
    for field in ("content", "resolution"):
        if field in values:
            values[field] = _without_secrets(values[field])


def clean_snapshot(values: dict[str, Any]) -> None:
    """What was taken out of is another payload, and says so by its hash."""
    payload = values.get("payload")
    values["payload"] = _without_secrets(payload)
    if values["payload"] != payload:
        values["sha256"] = hashlib.sha256(values["payload"].encode()).hexdigest()


def _without_secrets(text: Any) -> Any:
    """What is no JSON is told when it is read."""
    if not isinstance(text, str) or not may_hold_secrets(text):
        return text
    try:
        value, found = redact(read_json(text))
    except (ValueError, RecursionError):
        return text
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if found else text
