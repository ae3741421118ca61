import uuid

from sessions_app.core.errors import NotFound


def uuid_or_none(text: str) -> uuid.UUID | None:
    """None: it is none."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def parse_id(text: str, unknown: type[NotFound]) -> uuid.UUID:
    """Parse an id from a URL. Text that is no UUID raises `unknown`, like any unknown id."""
    found = uuid_or_none(text)
    if found is None:
        raise unknown
    return found
