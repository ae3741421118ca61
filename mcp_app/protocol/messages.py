"""What a message of a client must be before the protocol's library sees it.

The library answers a wrong one with its own inner workings or, since it takes a request with such an id for a notification, not
at all.
"""

from typing import Any

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
BATCH = "Batches are not supported. Send one message per request."
WRONG_ID = "`id` is a text or a whole number. A message that wants no answer has none."
NO_MESSAGE = 'This is no message of JSON-RPC 2.0: it needs `"jsonrpc": "2.0"`, `method` as a text, and `params` as an object.'
_ANSWERS = ("result", "error")


def wrong_message(message: Any) -> str:
    """Why it is refused; empty if it is not."""
    if isinstance(message, list):
        return BATCH
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return NO_MESSAGE
    if "method" not in message:
        return "" if any(name in message for name in _ANSWERS) else NO_MESSAGE
    if not is_id(message.get("id", 0)):
        return WRONG_ID
    is_sound = isinstance(message["method"], str) and isinstance(message.get("params"), dict | None)
    return "" if is_sound else NO_MESSAGE


def id_of(message: Any) -> str | int | None:
    """For the answer; None if it has none that an answer can have."""
    given = message.get("id") if isinstance(message, dict) else None
    return given if is_id(given) else None


def is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
