import uuid

from sessions_app.core.errors import NotFound


def parse_id(text: str, unknown: type[NotFound]) -> uuid.UUID:
    """Parse an id from a URL. Text that is no UUID raises `unknown`, like any unknown id."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise unknown from None
