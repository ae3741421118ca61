"""Names of threads, namespaces, checkpoints and tasks: their limits, and how addresses write them.

In an address `/` is written `~1` and `~` is written `~0`. A graph's root namespace is the empty text, which an address cannot
have between two slashes: it is written `~`, which is not the beginning of any other name.
"""

import re

from sessions_app.core.errors import Invalid
from sessions_app.core.serialization.strict_json import REPLACEMENT

ROOT = "~"
_ESCAPE = re.compile("~[01]?")
_MEANINGS = {"~0": "~", "~1": "/"}
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def from_address(part: str, field: str, most: int) -> str:
    """The name that a part of an address stands for. Raises 422."""
    if REPLACEMENT in part:  # What an address cannot hold has become this.
        raise _wrong(field, most)
    if part == ROOT and field == "ns":
        return ""
    if any(found == ROOT for found in _ESCAPE.findall(part)):
        raise Invalid("In an address `~` is written `~0`, and `/` is written `~1`.", details={"field": field})
    return checked(_ESCAPE.sub(lambda found: _MEANINGS[found[0]], part), field, most)


def checked(name: str, field: str, most: int) -> str:
    """The name, if it has at most so many bytes of UTF-8; only a namespace may be empty. Raises 422."""
    if (not name and field != "ns") or _UNSTORABLE.search(name) or len(name.encode()) > most:
        raise _wrong(field, most)
    return name


def _wrong(field: str, most: int) -> Invalid:
    return Invalid(f"`{field}` is a text of 1 to {most} bytes of UTF-8 without NUL.", details={"field": field})
