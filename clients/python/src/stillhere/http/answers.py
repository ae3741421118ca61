"""Requests as bytes, and bytes as answers, whatever reads and writes them."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx
import orjson

MSGPACK = "application/vnd.msgpack"
HEAD_END, LINE_END = b"\r\n\r\n", b"\r\n"
LONGEST_HEAD = 262_144
_EMPTY = {204, 304}
# From here on a float is what orjson makes of an integer.
_LARGE = 2.0**63
# Bytes a value: of an answer with so long texts each value is looked at, which takes less time than each byte.
_SPARSE = 1_000
_LONG = b"0" * len(str(2**63))
_DIGITS_AS_ZERO = bytes.maketrans(b"123456789", b"0" * 9)


class Answer(NamedTuple):
    """`headers`: by their names in small letters."""

    status: int
    headers: Mapping[str, str]
    content: bytes


def value_in(answer: Answer) -> Any:
    """Raises ValueError for what is no JSON, nor MessagePack where that was asked for."""
    if answer.headers.get("content-type", "").partition(";")[0].strip().lower() != MSGPACK:
        return value_of(answer.content)
    from ormsgpack import unpackb  # Who asks for it has it.

    return unpackb(answer.content)


def value_of(content: bytes) -> Any:
    """JSON's value, with integers of any size. Raises ValueError for what is no JSON."""
    try:
        value = orjson.loads(content)
    except ValueError:  # It refuses lone surrogates, which a text may have.
        return json.loads(content)
    has_large = _has_large_float(value, len(content) // _SPARSE)
    if has_large is None:
        # Most answers have no such number, which costs a tenth of looking at each value.
        has_large = _LONG in content.translate(_DIGITS_AS_ZERO) and _has_large_float(value, len(content))
    return json.loads(content) if has_large else value


def _has_large_float(value: Any, most: int) -> bool | None:
    """None: there are more than `most` values."""
    level = [value]
    while level:
        if (most := most - 1) < 0:
            return None
        each = level.pop()
        if isinstance(each, dict):
            level.extend(each.values())
        elif isinstance(each, list):
            level.extend(each)
        elif isinstance(each, float) and abs(each) >= _LARGE:
            return True
    return False


def query_of(query: Mapping[str, object] | None) -> str:
    """With the question mark. A list is a parameter that is repeated; True is `true`, as the API reads it."""
    named = {name: str(value).lower() if isinstance(value, bool) else value for name, value in (query or {}).items()}
    return f"?{urlencode(named, doseq=True)}" if named else ""


def request_bytes(method: str, target: str, headers: Mapping[str, str], content: bytes | None) -> bytes:
    """Raises ValueError for a line break in what is no content."""
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if content is not None:
        lines.append(f"Content-Length: {len(content)}")
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("A header or an address has no line breaks.")
    return "\r\n".join(lines).encode("ascii") + HEAD_END + (content or b"")


class Reading:
    """One answer that arrives in pieces. `reusable`: the connection may take another request."""

    def __init__(self) -> None:
        # What was received and not taken yet. A long content stays in its pieces, because putting them together takes time.
        self._data = b""
        self._pieces: list[bytes] = []
        self._missing = 0
        self._status, self._headers = 0, dict[str, str]()
        self._length: int | None = None
        self._chunks: list[bytes] | None = None
        self.reusable = False

    def take(self, received: bytes) -> Answer | None:
        """The answer, once it is complete. `received`: empty if the server closed the connection. Raises RemoteProtocolError."""
        if received and len(received) < self._missing:
            self._pieces.append(received)
            self._missing -= len(received)
            return None
        self._data = b"".join((self._data, *self._pieces, received))
        self._pieces.clear()
        try:
            while not self._status:
                if not self._take_head():
                    return self._incomplete(received)
            return self._answer(received)
        except ValueError as error:
            raise httpx.RemoteProtocolError("The server's answer is not HTTP.") from error

    def _take_head(self) -> bool:
        end = self._data.find(HEAD_END)
        if end < 0:
            if len(self._data) > LONGEST_HEAD:
                raise ValueError("a head without an end")
            return False
        first, *lines = self._data[:end].decode("latin-1").split("\r\n")
        self._data = self._data[end + len(HEAD_END) :]
        version, status, *_ = first.split(" ")
        if not version.startswith("HTTP/1."):
            raise ValueError(version)
        if int(status) < 200:  # The answer comes after it.
            return True
        pairs = (line.partition(":") for line in lines)
        self._headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self._status = int(status)
        self._begin_content(persistent=version != "HTTP/1.0")
        return True

    def _begin_content(self, *, persistent: bool) -> None:
        if self._status in _EMPTY:
            self._length = 0
        elif self._headers.get("transfer-encoding", "").lower() == "chunked":
            self._chunks = []
        elif (length := self._headers.get("content-length")) is not None:
            self._length = _size(length, 10)
        framed = self._length is not None or self._chunks is not None
        self.reusable = persistent and framed and self._headers.get("connection", "").lower() != "close"

    def _answer(self, received: bytes) -> Answer | None:
        if self._chunks is not None:
            return self._with(b"".join(self._chunks)) if self._take_chunks(self._chunks) else self._incomplete(received)
        if self._length is None:  # Until the server closes the connection.
            return None if received else self._with(self._data)
        self._missing = self._length - len(self._data)
        if self._missing > 0:
            return self._incomplete(received)
        self.reusable = self.reusable and not self._missing
        return self._with(self._data[: self._length])

    def _take_chunks(self, chunks: list[bytes]) -> bool:
        at = 0
        try:
            while (end := self._data.find(LINE_END, at)) >= 0:
                size = _size(self._data[at:end].partition(b";")[0].decode("ascii"), 16)
                if not size:  # Trailers may follow, and an empty line.
                    return self._data.find(HEAD_END, end) >= 0
                begin = end + len(LINE_END)
                self._missing = begin + size + len(LINE_END) - len(self._data)
                if self._missing > 0:
                    return False
                chunks.append(self._data[begin : begin + size])
                at = begin + size + len(LINE_END)
            return False
        finally:
            self._data = self._data[at:]

    def _with(self, content: bytes) -> Answer:
        return Answer(self._status, self._headers, content)

    @staticmethod
    def _incomplete(received: bytes) -> None:
        if not received:
            raise httpx.RemoteProtocolError("The server closed the connection before it had answered.")


def _size(text: str, base: int) -> int:
    """Raises ValueError for what is no number of bytes."""
    if not text.strip().isalnum():
        raise ValueError(text)
    return int(text, base)
