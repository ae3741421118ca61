import uuid

from sessions_app.errors import NotFound


def parse_id(text: str, unknown: type[NotFound]) -> uuid.UUID:
    """An id out of an address. What is no UUID cannot be anyone's: not found, like any unknown one."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise unknown from None
