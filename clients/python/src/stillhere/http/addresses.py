"""Names in addresses."""

from urllib.parse import quote


def part(name: str) -> str:
    """A name as a part of an address; the empty one as well. Raises ValueError as `quoted` does."""
    return quoted(name.replace("~", "~0").replace("/", "~1")) if name else "~"


def quoted(name: str) -> str:
    """The same for a name that is written as in every URL. Raises ValueError for `.` and `..`, which stand for folders there: a
    proxy takes them out, and the request reaches another address."""
    if name in {".", ".."}:
        raise ValueError(f"`{name}` has no address. Choose another name.")
    return quote(name, safe="")
