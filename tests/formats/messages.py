"""Messages of a format as they are stored, and whether two are the same beside what is said to be lost."""

from typing import Any

from sessions_app.formats.neutral import Neutral
from sessions_app.formats.registry import FORMATS
from sessions_app.formats.writing import Converted, Stored


def stored(name: str, *raws: Any) -> list[Stored]:
    """The messages with the ids m1, m2, … (or their own, where the format has ids)."""
    return [as_stored(name, raw, f"m{number}") for number, raw in enumerate(raws, start=1)]


def as_stored(name: str, raw: Any, message_id: str) -> Stored:
    neutral = FORMATS[name].read(raw)
    own = raw.get("id") if name == "ai-sdk" else None
    return Stored(own or message_id, neutral.role, name, raw, neutral)


def written(name: str, *raws: Any) -> Converted:
    """The messages read and written in the same format."""
    return FORMATS[name].write(stored(name, *raws))


def written_as(name: str, *neutrals: Neutral) -> Converted:
    made = [Stored(f"m{number}", each.role, None, None, each) for number, each in enumerate(neutrals, start=1)]
    return FORMATS[name].write(made)


def others(made: Converted, neutral: Neutral) -> list[str]:
    """Losses beyond the fields that reading left out."""
    return [loss.reason for loss in made.losses if (loss.part, loss.reason.split("`")[1:2]) not in _named(neutral)]


def _named(neutral: Neutral) -> list[tuple[int | None, list[str]]]:
    return [(part, [name]) for part, name in neutral.left_out]


def without(value: Any, names: set[str]) -> Any:
    """`value` without the keys in `names`, and without what is empty: absent, null, false and [] are the same here."""
    if isinstance(value, dict):
        inner = {name: without(each, names) for name, each in value.items() if name not in names}
        return {name: each for name, each in inner.items() if each not in (None, False, "", [], {})}
    if isinstance(value, list):
        return [without(each, names) for each in value]
    return value
