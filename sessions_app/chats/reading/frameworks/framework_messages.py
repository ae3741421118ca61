"""What a framework's own message says: role, text and parts, read from its `raw`, and what was sent or changed beside it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.formats.neutral import FilePart, Neutral, Part, TextPart, parts_as_json, parts_from_json
from sessions_app.formats.registry import Unreadable, format_of
from sessions_app.models.message import PLAIN_ROLES, ROLES, TEXT_LENGTH, Role

PARTS_COUNT = "Its text and its parts differ: the parts are written."
RAW_COUNTS = "What was stored beside `raw` differs from it and has no place in it: `raw` is written."
# A client that cannot send the text of its message sends at least so much of the JSON.
_PREVIEW = 1_000

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


@dataclass(frozen=True, slots=True)
class Said:
    """`as_raw`: the stored `raw` says the same, or nobody can tell. `loss`: what of it is left out, as a sentence."""

    neutral: Neutral
    as_raw: bool
    loss: str | None = None


def said_by_parts(role: str, text: str, stored: list[dict[str, Any]], *, as_raw: bool) -> Said:
    """Of a message without a `raw` that could be read. A text that is in none of its parts follows them, as pages show it."""
    return _by_parts(role, text, parts_from_json(stored), as_raw=as_raw)


def _by_parts(role: str, text: str, parts: list[Part], *, as_raw: bool) -> Said:
    in_parts = Neutral(role, parts).text
    if text and not in_parts:
        kept = [part for part in parts if not isinstance(part, TextPart)]
        return Said(Neutral(role, [*kept, TextPart(text)]), as_raw)
    differ = text.split() != in_parts.split() and bool(text) and not _is_cut(text, in_parts)
    return Said(Neutral(role, parts), as_raw, PARTS_COUNT if differ else None)


def said_beside(own: Neutral, raw: Any, role: str, text: str, stored: list[dict[str, Any]] | None) -> Said:
    """`own`: what `raw` says. `role`, `text` and `stored`, the parts, are what the store has: they count where they differ.

    Of parts that differ while the text is the same nobody can tell whether they were sent so.
    """
    words = clean_text(own.text)
    other_words = text != words[:TEXT_LENGTH] and not _is_cut(text, words) and not _is_preview(text, raw)
    sent = None if stored is None else _sent(stored, own)
    other_parts = sent is not None and _beside_text(sent) != _beside_text(own.parts)
    # A tool's results are a user's message in some formats.
    other_role = role != own.role and "tool" not in (role, own.role)
    if own.role == "tool" or not (other_words or other_role):
        return Said(own, True, RAW_COUNTS if other_words or other_parts else None)
    if not other_words:
        return Said(replace(own, role=role), False, RAW_COUNTS if other_parts else None)
    role = role if other_role else own.role
    if sent is None or not other_parts:
        return Said(_with_text(replace(own, role=role), text), False)
    whole: list[tuple[int | None, str]] = [(None, name) for number, name in own.left_out if number is None]
    beside = _by_parts(role, text, sent, as_raw=False)
    return replace(beside, neutral=replace(own, role=role, parts=beside.neutral.parts, left_out=whole))


def _is_cut(text: str, whole: str) -> bool:
    """True if `whole` is too long for a message, and `text` its beginning. JavaScript counts UTF-16 units, and may cut a pair."""
    units = len(whole.encode("utf-16-le", "surrogatepass")) // 2
    return units > TEXT_LENGTH and len(text) >= TEXT_LENGTH // 2 - 1 and whole.startswith(text.removesuffix("\ufffd"))


def _is_preview(text: str, raw: Any) -> bool:
    """True if the text is the JSON of `raw`, or a long beginning of it: it only stands for it."""
    if not text.startswith("{"):
        return False
    whole = json.dumps(raw, ensure_ascii=False)
    return whole.startswith(text) and (len(text) >= _PREVIEW or len(text) == len(whole))


def _beside_text(parts: Iterable[Part]) -> list[dict[str, Any]]:
    return parts_as_json(_without_content(part for part in parts if not isinstance(part, TextPart)))


def _with_text(own: Neutral, text: str) -> Neutral:
    """With this text in the place of its own."""
    first = next((number for number, part in enumerate(own.parts) if isinstance(part, TextPart)), len(own.parts))
    parts: list[Part] = [*own.parts, TextPart("")] if first == len(own.parts) else list(own.parts)
    parts[first] = TextPart(text)
    kept = [number for number, part in enumerate(parts) if not isinstance(part, TextPart) or (number == first and text)]
    places = {number: place for place, number in enumerate(kept)}
    left_out = [(None if number is None else places.get(number), name) for number, name in own.left_out]
    return replace(own, parts=[parts[number] for number in kept], left_out=left_out)


def _sent(stored: list[dict[str, Any]], own: Neutral) -> list[Part]:
    """The stored parts. Those that follow from `raw` are stored and read without the content of files: it is put back."""
    files = [part for part in own.parts if isinstance(part, FilePart) and part.data is not None]
    made: list[Part] = []
    for part in stored:
        empty = part.get("type") == "file" and part.keys() <= {"type", "media_type", "name"}
        found = next((file for file in files if parts_as_json([replace(file, data=None)]) == [part]), None) if empty else None
        if found is not None:
            files.remove(found)
        made += parts_from_json([part]) if found is None else [found]
    return made
