"""Secrets in a file's states and handoffs do not come in, whoever wrote the file. Content without any stays byte for byte."""

import hashlib
import json
from typing import Any

from sessions_app.queries.states import read_json
from sessions_app.redaction import may_hold_secrets, redact


class WrongValue(Exception):
    """A value that this column does not take."""


def clean_state(values: dict[str, Any]) -> None:
    """Of agent and AI states, their versions, and actions."""
    for field in ("content", "resolution"):
        if field in values:
            values[field] = _without_secrets(values[field])


def clean_snapshot(values: dict[str, Any]) -> None:
    """A payload that is not the one that was frozen is refused. What a secret was taken out of is another payload, and says
    so by its hash."""
    payload = values.get("payload")
    if not isinstance(payload, str) or hashlib.sha256(payload.encode()).hexdigest() != values.get("sha256"):
        raise WrongValue(f"the payload of handoff_snapshot {values.get('number')} does not have its sha256")
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
