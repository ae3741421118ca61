"""Messages as the objects of one framework, whatever they were saved as."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import orjson

from sessions_app.core.errors import Invalid
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import read_json
from sessions_app.formats.conversion import Converted, Stored, convert
from sessions_app.formats.neutral import Neutral, parts_from_json
from sessions_app.formats.registry import FORMATS, Unreadable, format_of
from sessions_app.models.message import common_role


class UnknownFormat(Invalid):
    code = "unknown_format"

    def __init__(self) -> None:
        super().__init__("There is no such format to read messages as.", details={"field": "as", "formats": sorted(FORMATS)})


def check_format(target: str | None) -> None:
    """None: messages are read as they are stored. Raises UnknownFormat."""
    if target is not None and target not in FORMATS:
        raise UnknownFormat


def converted(items: Iterable[dict[str, Any]], target: str, *, repair: bool) -> dict[str, Any]:
    """`items`, `ids` and `losses` of messages as `reading.messages` returns them. Nothing stored changes.

    `repair`: calls of tools that have no output get one, so that the next call of a model is valid. Raises UnknownFormat.
    """
    check_format(target)
    items = list(items)
    if not repair and not FORMATS[target].results_inside and all(_is_in(item, target) for item in items):
        made = Converted([item["raw"] for item in items], [[item["id"]] for item in items])
    else:
        made = convert((_stored(item) for item in items), target, repair=repair)
    written = [item if isinstance(item, orjson.Fragment) else orjson.Fragment(json_text(item)) for item in made.items]
    return {"items": written, "ids": made.ids, "losses": [asdict(loss) for loss in made.losses]}


def _is_in(item: dict[str, Any], target: str) -> bool:
    """True if it is in this format already: it is returned as it was stored, and need not be read."""
    return item.get("format") == target and item.get("raw") is not None


def _stored(item: dict[str, Any]) -> Stored:
    return Stored(item["id"], item["role"], item.get("format"), item.get("raw"), _neutral(item))


def _neutral(item: dict[str, Any]) -> Neutral:
    form = format_of(item.get("format"))
    if form is not None and "raw" in item:
        # It could be read when it was saved; what was stored before formats were read may be anything.
        with suppress(Unreadable):
            return form.read(stored_value(item["raw"]))
    return Neutral(common_role(item["role"]), parts_from_json(stored_value(item["parts"])))


def stored_value(stored: Any) -> Any:
    """Stored JSON is returned as text, so that it stays exact."""
    return read_json(orjson.dumps(stored).decode()) if isinstance(stored, orjson.Fragment) else stored
