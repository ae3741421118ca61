"""Values of a graph's state as data that pages show. Pure.

LangGraph's serializer writes MessagePack, whose extensions name a class and what its constructor gets. Nothing that a value names
is imported or called here: an extension becomes an `Instance`. Its own MessagePack is opened only when it is reached, so
neither nesting nor declared lengths make a read slow or deep.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ormsgpack

from sessions_app.core.text import count

MOST_BYTES = 1_000_000
# Of one value. A page's tree shows up to 200 children and 20,000 characters of a text: what is more is cut here, and said so.
MOST_NODES, MOST_CHARACTERS, MOST_ITEMS, LONGEST, DEEPEST = 10_000, 100_000, 199, 19_000, 24
CUT = "…"
# Of MessagePack with keys that are no texts. Python hashes these without a secret: many that collide would take long.
_OTHER_KEYS_BYTES = 32_000
# Extensions of LangGraph: up to 5 constructors of several kinds, whose data are a module, a name and the arguments.
_LAST_CONSTRUCTOR, _ARRAY, _SNAPSHOT = 5, 6, 7
# Classes whose only argument says what they are.
_SELF_EVIDENT = {("datetime", "datetime"), ("decimal", "Decimal"), ("uuid", "UUID"), ("zoneinfo", "ZoneInfo")}
_SECRETS = {"Secret", "SecretBytes", "SecretStr"}


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class. `content`: its fields, a list of arguments, or its only argument; cut like other values."""

    name: str
    content: Any


@dataclass(frozen=True, slots=True)
class Decoded:
    """A value that was read: None, numbers, texts, lists, dicts and `Instance`. `left_out`: how many items of a list of objects
    come before those that `value` has. `characters`: of its texts."""

    value: Any
    left_out: int = 0
    characters: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class _Extension:
    """Of MessagePack, unopened."""

    code: int
    data: bytes


def decode(kind: str, data: bytes, *, last: int = MOST_ITEMS, characters: int = MOST_CHARACTERS) -> Decoded | None:
    """A value by the name of its serialization and its bytes. None: another serialization, damaged, or above MOST_BYTES.

    Never raises. Of a list of objects, such as messages, only the `last` are read, or fewer if these are large. `characters`:
    about how many its texts may have; the rest is cut.
    """
    open_value = _SERIALIZATIONS.get(kind)
    if open_value is None or len(data) > MOST_BYTES:
        return None
    try:
        return _decoded(open_value(data), last, min(characters, MOST_CHARACTERS))
    except (ValueError, RecursionError):
        return None


def _decoded(value: Any, last: int, characters: int) -> Decoded:
    reader = _Reader(characters)
    if isinstance(value, list) and value and all(_is_object(item) for item in value):
        items = reader.last_of(value[-last:])
        return Decoded(items, len(value) - len(items), characters - reader.characters)
    return Decoded(reader.read(value, 0), 0, characters - reader.characters)


def as_json(value: Any) -> Any:
    """A decoded value without instances: `{"Name": fields}`, or `Name(argument)`."""
    if isinstance(value, Instance):
        return {value.name: as_json(value.content)} if isinstance(value.content, dict | list) else _called(value)
    if isinstance(value, dict):
        return {name: as_json(item) for name, item in value.items()}
    return [as_json(item) for item in value] if isinstance(value, list) else value


def _called(value: Any) -> str:
    """As Python writes it. One in another one is not quoted, which would double its length each time."""
    if not isinstance(value, Instance):
        return json.dumps(as_json(value), ensure_ascii=False)
    return f"{value.name}({_called(value.content)})"


def _unpack(data: bytes) -> Any:
    """Raises ValueError."""
    try:
        return ormsgpack.unpackb(data, ext_hook=_Extension)
    except ValueError:
        if len(data) > _OTHER_KEYS_BYTES:
            raise
    return ormsgpack.unpackb(data, ext_hook=_Extension, option=ormsgpack.OPT_NON_STR_KEYS)


def _nothing(_data: bytes) -> None:
    return None


_SERIALIZATIONS: Mapping[str, Callable[[bytes], Any]] = {
    "msgpack": _unpack,
    "json": json.loads,
    "bytes": bytes,
    "bytearray": bytes,
    "null": _nothing,
    "empty": _nothing,
}


def _is_object(value: Any) -> bool:
    """Or a message that was stored as a dict."""
    if isinstance(value, dict):
        return "content" in value or _envelope(value) is not None
    return isinstance(value, _Extension)


def _envelope(value: Any) -> tuple[str, Any] | None:
    """The class and the fields of an object that was serialized as JSON."""
    match value:
        case {"lc": 1 | 2, "type": "constructor", "id": [*_, str(name)], "kwargs": dict(fields)}:
            return name, fields
    return None


class _Reader:
    """Opens a value as far as there is room."""

    def __init__(self, characters: int) -> None:
        self._left, self.characters = MOST_NODES, characters

    def last_of(self, items: Sequence[Any]) -> list[Any]:
        """From the end, where what is new is, as many as there is room for, and at least one."""
        read = list[Any]()
        for item in reversed(items):
            made = self.read(item, 1)
            if read and (self._left <= 0 or self.characters <= 0):  # It is cut somewhere.
                break
            read.append(made)
        return read[::-1]

    def read(self, value: Any, depth: int) -> Any:
        self._left -= 1
        match value:
            case str():
                text = _text(value, min(LONGEST, max(0, self.characters)))
                self.characters -= len(text)
                return text
            case bytes() | bytearray():
                return _binary(value)
            case None | bool() | int() | float():
                return value
            case _ if self._left <= 0 or depth > DEEPEST:
                return CUT
            case _Extension():
                return self._extension(value, depth)
            case dict():
                return self._fields(value, depth)
        return self._items(value, depth) if isinstance(value, list | tuple) else _text(str(value))

    def _items(self, items: Sequence[Any], depth: int) -> list[Any]:
        read = list[Any]()
        for item in items[:MOST_ITEMS]:
            if self._left <= 0:
                break
            read.append(self.read(item, depth + 1))
        return read + [_more(len(items) - len(read))] * (len(read) < len(items))

    def _fields(self, fields: Mapping[Any, Any], depth: int) -> Any:
        if (found := _envelope(fields)) is not None:
            return Instance(_text(found[0]), self.read(found[1], depth + 1))
        read, seen = dict[str, Any](), 0
        for name, item in fields.items():
            if self._left <= 0 or seen == MOST_ITEMS:
                break
            read[_text(name if isinstance(name, str) else str(name))] = self.read(item, depth + 1)
            seen += 1
        return read | ({CUT: _more(len(fields) - seen)} if seen < len(fields) else {})

    def _extension(self, extension: _Extension, depth: int) -> Any:
        try:
            opened = _unpack(extension.data)
        except (ValueError, RecursionError):
            opened = None
        match opened:
            case [str(module), str(name), content, *_] if 0 <= extension.code <= _LAST_CONSTRUCTOR:
                plain = _plain(module, name, content)
                return plain if plain is not None else Instance(_text(name), self._content(name, content, depth))
            case [str(kind), [*shape], *_] if extension.code == _ARRAY:
                return _text(f"array {' × '.join(map(str, shape[:8]))} of {kind}")
        if extension.code == _SNAPSHOT:
            return self.read(opened, depth + 1)
        return f"extension {extension.code}, {_binary(extension.data)}"

    def _content(self, name: str, content: Any, depth: int) -> Any:
        return "*" * 10 if name in _SECRETS else self.read(content, depth + 1)


def _plain(module: str, name: str, content: Any) -> str | None:
    """What says by itself what it is, as the text that people write; None if that is not known."""
    match content:
        case str() if (module, name) == ("uuid", "UUID") and len(content) == 32:
            return _text("-".join((content[:8], content[8:12], content[12:16], content[16:20], content[20:])))
        case str() if (module, name) in _SELF_EVIDENT or module == "ipaddress":
            return _text(content)
        case [int(year), int(month), int(day)] if (module, name) == ("datetime", "date"):
            return f"{year:04}-{month:02}-{day:02}"
        case [*parts] if module.startswith("pathlib") and all(isinstance(part, str) for part in parts):
            return _text("/".join(parts).replace("//", "/", 1))
    return None


def _text(text: str, most: int = LONGEST) -> str:
    """The text, cut; half characters, which no response can have, replaced."""
    cut = text if len(text) <= most else text[:most] + CUT
    return cut if cut.isascii() else cut.encode(errors="replace").decode()


def _binary(data: bytes | bytearray) -> str:
    return f"{count(len(data))} byte{'' if len(data) == 1 else 's'}"


def _more(number: int) -> str:
    return f"{CUT} {count(number)} more"
