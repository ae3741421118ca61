"""Messages as the objects of one framework, whatever they were saved as."""

import re
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import orjson

from sessions_app.chats.reading.frameworks.framework_messages import Said, said_beside, said_by_parts
from sessions_app.core.errors import Invalid
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import read_json, written_json
from sessions_app.formats.conversion import Loss, Stored, convert
from sessions_app.formats.neutral import Neutral, TextPart
from sessions_app.formats.registry import FORMATS, Unreadable, format_of
from sessions_app.models.message import common_role

# In a message of one text, wherever its format has it.
_ROLE = re.compile(rb'"role"\s*:\s*"(\w+)"')
_TEXTS = re.compile(rb'"(?:text|content)"\s*:\s*(?P<list>\[)?')


class UnknownFormat(Invalid):
    code = "unknown_format"

    def __init__(self) -> None:
        known = sorted(FORMATS)
        message = f"There is no such format to read messages as. Known ones: {', '.join(known)}."
        super().__init__(message, details={"field": "as", "formats": known})


def check_format(target: str | None) -> None:
    """None: messages are read as they are stored. Raises UnknownFormat."""
    if target is not None and target not in FORMATS:
        raise UnknownFormat


def converted(items: Iterable[dict[str, Any]], target: str, *, repair: bool) -> dict[str, Any]:
    """`items`, `ids` and `losses` of messages as `reading.messages` returns them. Nothing stored changes.

    `repair`: calls of tools that have no output get one, so that the next call of a model is valid. Raises UnknownFormat.
    """
    check_format(target)
    read = [(item, _is_plain(item, target)) for item in items]
    if not repair and not FORMATS[target].results_inside and all(plain for _, plain in read):
        return {"items": [item["raw"] for item, _ in read], "ids": [[item["id"]] for item, _ in read], "losses": []}
    said = [(item, _plain(item) if plain else said_by(item)) for item, plain in read]
    made = convert((_stored(item, each) for item, each in said), target, repair=repair)
    losses = [Loss(item["id"], None, each.loss) for item, each in said if each.loss is not None]
    written = [item if isinstance(item, orjson.Fragment) else orjson.Fragment(json_text(item)) for item in made.items]
    return {"items": written, "ids": made.ids, "losses": [asdict(loss) for loss in [*losses, *made.losses]]}


def _is_plain(item: dict[str, Any], target: str) -> bool:
    """Is it returned in its own format, and does `raw` say one text, which is that of the message? Most do; seen without parsing
    it. False: it has to be parsed."""
    raw, parts = item.get("raw"), item["parts"]
    if item.get("format") != target or not isinstance(raw, orjson.Fragment) or isinstance(parts, orjson.Fragment):
        return False
    written, role, text = orjson.dumps(raw), item["role"].encode(), orjson.dumps(item["text"])
    if written == b'{"role":"%b","content":%b}' % (role, text):  # As most clients write it.
        return True
    if _ROLE.findall(written) != [role]:
        return False
    texts = [found for found in _TEXTS.finditer(written) if not found["list"]]
    return len(texts) == 1 and written.startswith(text, texts[0].end())


def _plain(item: dict[str, Any]) -> Said:
    """As `said_by`, of a plain one."""
    return Said(Neutral(item["role"], [TextPart(item["text"])]), as_raw=True)


def _stored(item: dict[str, Any], said: Said) -> Stored:
    # As it was stored, so that it is returned exact.
    raw = item.get("raw") if said.as_raw else None
    return Stored(item["id"], item["role"], item.get("format"), raw, said.neutral)


def said_by(item: dict[str, Any]) -> Said:
    """What a message says: `raw`, and what was sent or changed beside it."""
    form, role = format_of(item.get("format")), common_role(item["role"])
    raw = _exact_value(item.get("raw"))
    if form is not None and raw is not None:
        # Parts that follow from the text are no JSON text.
        parts = _exact_value(item["parts"]) if isinstance(item["parts"], orjson.Fragment) else None
        try:
            return said_beside(form.read(raw), raw, role, item["text"], parts)
        except Unreadable:
            pass  # It could be read when it was saved; what was stored before formats were read may be anything.
    return said_by_parts(role, item["text"], _exact_value(item["parts"]), as_raw=raw is not None)


def stored_value(stored: Any) -> Any:
    """Stored JSON is returned as text, so that it stays exact."""
    return read_json(orjson.dumps(stored).decode()) if isinstance(stored, orjson.Fragment) else stored


def _exact_value(stored: Any) -> Any:
    """As `stored_value`, for what `json_text` writes again: numbers keep their notation."""
    return written_json(orjson.dumps(stored).decode()) if isinstance(stored, orjson.Fragment) else stored
