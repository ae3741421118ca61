"""What a message of a client must be before the protocol's library sees it.

The library answers a wrong one with its own inner workings or, since it takes a request with such an id for a notification, not
at all.
"""

from typing import Any

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
BATCH = "Batches are not supported. Send one message per request."
WRONG_ID = "`id` is a text or a whole number. A message that wants no answer has none."


def wrong_message(message: Any) -> str:
    """Why it is refused; empty if it is not."""
    if isinstance(message, list):
        return BATCH
    if isinstance(message, dict) and "method" in message and not is_id(message.get("id", 0)):
        return WRONG_ID
    return ""


def is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
