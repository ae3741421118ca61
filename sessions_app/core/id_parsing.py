import uuid

from sessions_app.core.errors import Invalid, NotFound

# As a part of an address they name folders: clients and proxies take them out, so the request reaches another address.
_DOTS = frozenset({".", ".."})
WHY_NO_DOTS = "in an address these name folders, so nothing with this id could be read or changed. Choose another one."


class DotsAsId(Invalid):
    def __init__(self, field: str) -> None:
        super().__init__(f"`{field}` cannot be `.` or `..`: {WHY_NO_DOTS}", details={"field": field})


def is_dots(chosen: str | None) -> bool:
    return chosen in _DOTS


def refuse_dots(**ids: str | None) -> None:
    """Ids by field, which a client chose for something new. What is stored under such an id stays as it is. Raises DotsAsId."""
    for field, chosen in ids.items():
        if is_dots(chosen):
            raise DotsAsId(field)


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
