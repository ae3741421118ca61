"""Strict JSON parsing: ambiguous input is refused, characters that a database cannot hold are replaced.

Refused (400): NaN, Infinity, numbers beyond a double's range, duplicate keys, depth over 64, bad UTF-8, anything after the value.
Replaced by U+FFFD and reported: NUL and lone surrogates, which PostgreSQL's text or UTF-8 itself cannot hold. In what is
stored as JSON exactly as it was sent (`_is_exact`), a NUL stays (JSON text holds it escaped), and so does a number's notation.
"""

import json
import math
import re
from typing import Any, Never

import orjson

from sessions_app.core.errors import BadRequest
from sessions_app.core.serialization.json_text import WrittenNumber

MAX_DEPTH = 64
_NESTING = frozenset({dict, list})
REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
ASSISTANT_UI = "assistant-ui"
_SURROGATES = re.compile("[\ud800-\udfff]")
# Where in a body a value begins: the names and numbers that lead to it.
Path = tuple[str | int, ...]
# Of the paths that are named below this depth only so many are kept: a body can have a million of them.
_SHALLOW, _MOST_DEEP = 4, 1_000
# A name in a path is cut: one long name can lead to a million values.
_LONGEST_NAME = 64
# Where JSON with spaces shows them.
_BEGINNING = 200
# orjson writes so many levels. Within so many lists that are around it, a value has `MAX_DEPTH` of them at most.
_ORJSON_DEPTH = 254
_AROUND = _ORJSON_DEPTH - MAX_DEPTH
# In shorter JSON the brackets are counted sooner.
_LONG = 10_000


class UnreadableJson(BadRequest):
    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"The body is not JSON that can be stored: {why}.", code="unreadable_json")


def loads(raw: bytes, *, within: str = "") -> tuple[Any, list[str]]:
    """The value, and the dotted paths of the strings in which characters were replaced. `within`: the path of a value that is no
    body with fields of ours."""
    if (known := _as_we_write_it(raw)) is not None:
        return known, []
    reading = _Reading()
    try:
        value = reading.decoder(minus_zeros=b"-0" in raw).decode(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise UnreadableJson("it is not UTF-8") from None
    except RecursionError:
        raise UnreadableJson(f"it is nested deeper than {MAX_DEPTH}") from None
    except ValueError as error:
        # A decoder's message names a position ("line 1 column 5"), never the text.
        raise UnreadableJson(_reason(error)) from None
    if not (_has_few_brackets(raw) or _is_shallow(value)):
        raise UnreadableJson(f"it is nested deeper than {MAX_DEPTH}")
    return without_unstorable(value, within) if b"\\u" in raw or reading.found_notations else (value, [])


def _as_we_write_it(raw: bytes) -> Any:
    """The value, in a fifth of the time, if the body is compact JSON: orjson makes the same bytes of it again. So no key is there
    twice, no number is written otherwise, and nothing follows. None: the strict reader has to look."""
    if b'": ' in raw[:_BEGINNING] or (b"\\" in raw and b"\\u" in raw):
        return None
    try:
        value = orjson.loads(raw)
        return value if _written(value, checked=_has_few_brackets(raw)) == raw else None
    except (ValueError, TypeError, RecursionError):
        return None


def _written(value: Any, *, checked: bool) -> bytes:
    """Raises TypeError for a value that is nested too deeply, unless that was `checked`: a walk over a large value takes longer
    than all else that is done with it here."""
    if checked:
        return orjson.dumps(value)
    for _ in range(_AROUND):
        value = [value]
    return orjson.dumps(value)[_AROUND:-_AROUND]


def _has_few_brackets(raw: bytes) -> bool:
    return len(raw) < _LONG and raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH


def clean_text(text: str) -> str:
    """`text` with characters that no database can hold replaced."""
    return _UNSTORABLE.sub(REPLACEMENT, text)


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return str(error).split(";")[0]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object has the same key twice")
    return made


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON number")


class _Reading:
    """The decoding of one body."""

    def __init__(self) -> None:
        self.found_notations = False

    def decoder(self, *, minus_zeros: bool) -> json.JSONDecoder:
        return json.JSONDecoder(
            object_pairs_hook=_object,
            parse_float=self._float,
            parse_int=self._integer if minus_zeros else None,
            parse_constant=_refuse_constant,
        )

    def _float(self, text: str) -> float:
        number = float(text)
        if math.isinf(number):
            raise ValueError("a number is too large")
        return number if orjson.dumps(number).decode() == text else self._written(number, text)

    def _integer(self, text: str) -> float:
        return self._written(-0.0, text) if text == "-0" else int(text)

    def _written(self, number: float, text: str) -> WrittenNumber:
        self.found_notations = True
        return WrittenNumber.of(number, text)


def _is_shallow(value: Any) -> bool:
    """Level by level, so that the check itself needs no recursion."""
    level = [value] if type(value) in _NESTING else []
    for _ in range(MAX_DEPTH):
        level = [child for item in level for child in (item.values() if type(item) is dict else item) if type(child) in _NESTING]
        if not level:
            return True
    return False


def without_unstorable(value: Any, within: str = "") -> tuple[Any, list[str]]:
    """A copy in which characters that cannot be stored are replaced, and the dotted paths of their strings."""
    normal = _Normal()
    return normal.walk(value, (within,) if within else (), exact=False), normal.replaced


def _is_exact(path: Path) -> bool:
    """The JSON fields of messages, and a session's metadata; below `ASSISTANT_UI` as that client calls them."""
    match path:
        case (name, "content" | "metadata") if name == ASSISTANT_UI:
            return True
        case (("ops" | "messages"), int(), ("raw" | "parts" | "metadata")) | ("metadata",) | (("session" | "create"), "metadata"):
            return True
        case _:
            return False


class _Normal:
    """A value as it can be stored; `replaced`: the paths of changed strings."""

    def __init__(self) -> None:
        self.replaced: list[str] = []
        self._deep = 0

    def walk(self, item: Any, path: Path, *, exact: bool) -> Any:
        exact = exact or _is_exact(path)
        if isinstance(item, str):
            cleaned = _clean(item, exact)
            if cleaned != item:
                self._name(path)
            return cleaned
        if isinstance(item, list):
            return [self.walk(child, (*path, number), exact=exact) for number, child in enumerate(item)]
        if isinstance(item, dict):
            return {key: self.walk(child, (*path, key), exact=exact) for key, child in self._keys(item, path, exact)}
        if isinstance(item, WrittenNumber) and not exact:
            return int(item) if item.written == "-0" else float(item)
        return item

    def _keys(self, item: dict[str, Any], path: Path, exact: bool) -> list[tuple[str, Any]]:
        cleaned = [(_clean(key, exact), child) for key, child in item.items()]
        if len({key for key, _ in cleaned}) != len(item):
            raise UnreadableJson("two keys of an object differ only in characters that cannot be stored")
        for (key, _), old in zip(cleaned, item, strict=True):
            if key != old:
                self._name((*path, key))
        return cleaned

    def _name(self, path: Path) -> None:
        self._deep += len(path) > _SHALLOW
        if len(path) <= _SHALLOW or self._deep <= _MOST_DEEP:
            self.replaced.append(".".join(str(each)[:_LONGEST_NAME] for each in path))


def _clean(text: str, exact: bool) -> str:
    return _SURROGATES.sub(REPLACEMENT, text) if exact else clean_text(text)
