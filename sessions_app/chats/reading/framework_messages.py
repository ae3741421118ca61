"""What a framework's own message says: role, text and parts, read from its `raw`."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.formats.neutral import FilePart, Part, TextPart, parts_as_json
from sessions_app.formats.registry import Unreadable, format_of
from sessions_app.models.message import PLAIN_ROLES, ROLES, TEXT_LENGTH, Role

# To read a part takes some microseconds, under the session's lock.
MOST_PARTS = 10_000


@dataclass(frozen=True, slots=True)
class Reading:
    """`parts`: None if the text says it all."""

    role: str
    text: str
    parts: list[dict[str, Any]] | None


def read_raw(name: str | None, raw: Any) -> Reading | None:
    """None: the format is not known, so `raw` is only kept. Raises `formats.fields.Unreadable`."""
    known = None if name is None or raw is None else format_of(name)
    if known is None:
        return None
    if any(len(each) > MOST_PARTS for each in _lists_in(raw)):
        raise Unreadable(f"A message has at most {MOST_PARTS:,} parts.")
    neutral = known.read(raw)
    text = clean_text(neutral.text)
    only_text = len(text) <= TEXT_LENGTH and all(isinstance(part, TextPart) for part in neutral.parts)
    # A longer text is whole in the parts; what is searched is its beginning.
    return Reading(neutral.role, text[:TEXT_LENGTH], None if only_text else parts_as_json(_without_content(neutral.parts)))


def _lists_in(raw: Any) -> list[list[Any]]:
    """Where the formats have parts: in a message, or in an object in it."""
    values = list(raw.values()) if isinstance(raw, dict) else []
    values += [inner for value in values if isinstance(value, dict) for inner in value.values()]
    return [value for value in values if isinstance(value, list)]


def roles_of(name: str | None) -> frozenset[str]:
    """The roles that a message of this format may have."""
    if name is None:
        return PLAIN_ROLES
    known = format_of(name)
    return ROLES if known is None else frozenset(Role.values) | frozenset(known.roles)


def _without_content(parts: Iterable[Part]) -> Iterable[Part]:
    """The content of files is in `raw` already."""
    return (replace(part, data=None) if isinstance(part, FilePart) else part for part in parts)
