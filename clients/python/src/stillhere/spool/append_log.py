"""The newest requests of a spool, one line each: to add one costs one write of the disk, where a table costs several.

The first line has the number below which nothing counts. To raise it empties the file in one step, whatever happens then to the
lines, which are removed next. A line whose writing was cut off is nobody's: its caller was not told that it is stored.
"""

import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import orjson

from stillhere.spool.items import DamagedSpool, Item

DAMAGED = (
    "The spool file {path} is damaged: line {line} is none of its own, and others follow. Nothing was removed from it. Move it "
    "away, so that a new one begins. Each line is a checksum and a request as JSON: some may not have been sent."
)
_BEGINNING = b"stillhere spool, log 1: "
# On macOS and Windows there is only the other one.
_sync = getattr(os, "fdatasync", os.fsync)


def _head(last: int) -> bytes:
    number = b"%020d" % last
    return b"%s%s %08x\n" % (_BEGINNING, number, zlib.crc32(number))


_HEAD_BYTES = len(_head(0))


class Entry(NamedTuple):
    """`made_at`: seconds since 1970."""

    scope: str
    made_at: float
    item: Item


class AppendLog:
    """Several processes may share the file. Whoever calls `read`, `append` or `empty` holds a lock that keeps all others from it.
    `entries`: what was there at the last `read`. Raises OSError if the disk takes nothing, and DamagedSpool."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: BinaryIO | None = None
        self._forget()

    def _forget(self) -> None:
        self.entries: list[Entry] = []
        # The last number that was given away.
        self.last = 0
        # The first line, the size of the file, and of its lines, if the last one is not cut off.
        self._head, self.size, self._end, self._lines = b"", 0, 0, 0

    def is_as_read(self) -> bool:
        """Also without the lock: whoever empties the file changes its first line."""
        return self._head_now() == self._head and self._size_now() == self.size

    def read(self) -> None:
        if self.is_as_read():
            return
        head, size = self._head_now(), self._size_now()
        if head != self._head or size < self._end:
            self._forget()
            self._begin(head)
        if self._end:
            content = _read(self._file, self._end, size - self._end)
            if len(content) < size - self._end:
                raise OSError(f"{self.path} cannot be read to its end.")
            self._take(content)
        self.size = size

    def append(self, entries: Sequence[Entry]) -> None:
        """All of them, behind what `read` has found, or none. Their numbers rise. They are on the disk when this returns."""
        end, head = self._end, self._head if self._end else _head(self.last)
        content = b"".join(map(_line, entries))
        try:
            self._write(end, content if end else head + content)
            _sync(self._file.fileno())
        except BaseException:
            with suppress(OSError):
                self._file.truncate(end)
            raise
        self.entries += entries
        self.last, self._head = entries[-1].item.number, head
        self.size = self._end = (end or _HEAD_BYTES) + len(content)
        self._lines = (self._lines or 1) + len(entries)

    def empty(self, last: int) -> None:
        """`last`: the last number that was given away, here or elsewhere."""
        last = max(last, self.last)
        self._write(0, _head(last))
        self._file.truncate(_HEAD_BYTES)
        self._forget()
        self._begin(_head(last))
        self.size = _HEAD_BYTES

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def _file(self) -> BinaryIO:
        if self._opened is None:
            is_new = make_private(self.path)
            self._opened = self.path.open("r+b", buffering=0)
            if is_new:
                _sync_folder(self.path.parent)
        return self._opened

    def _begin(self, head: bytes) -> None:
        """A first line that was cut off, or never written when the power went, is none: nothing behind it was acknowledged."""
        self._head = head
        if len(head) == _HEAD_BYTES and head.strip(b"\0"):
            digits = head[len(_BEGINNING) :].partition(b" ")[0]
            if not digits.isdigit() or head != _head(int(digits)):
                raise DamagedSpool(DAMAGED.format(path=self.path, line=1))
            self.last, self._end, self._lines = int(digits), _HEAD_BYTES, 1

    def _take(self, content: bytes) -> None:
        wrong = 0
        for number, line in enumerate(content.split(b"\n")[:-1], self._lines + 1):
            entry = _entry_in(line)
            if entry is None:
                wrong = wrong or number
            elif entry.item.number > self.last:
                if wrong:
                    raise DamagedSpool(DAMAGED.format(path=self.path, line=wrong))
                self.entries.append(entry)
                self.last = entry.item.number
            if not wrong:
                self._end += len(line) + 1
                self._lines = number

    def _write(self, start: int, content: bytes) -> None:
        if self.size > self._end:  # A line that was cut off.
            self._file.truncate(self._end)
        self._file.seek(start)
        left = memoryview(content)
        while left:
            left = left[self._file.write(left) :]

    def _head_now(self) -> bytes:
        return _read(self._file, 0, _HEAD_BYTES)

    def _size_now(self) -> int:
        return os.fstat(self._file.fileno()).st_size


def make_private(path: Path) -> bool:
    """An empty file for its owner alone. False: there was one, which is not opened: to close it would end the locks of SQLite's
    connections in this process."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return False
    return True


def _read(file: BinaryIO, start: int, size: int) -> bytes:
    if hasattr(os, "pread"):  # One call of the system, except on Windows.
        return os.pread(file.fileno(), size, start)
    file.seek(start)
    return file.read(size)


def _line(entry: Entry) -> bytes:
    """Raises ValueError for half a character in a name."""
    try:
        content = orjson.dumps([entry.scope, entry.made_at, list(entry.item)])
    except TypeError as error:
        raise ValueError(f"The id of a session cannot be stored: {error}") from error
    return b"%08x %s\n" % (zlib.crc32(content), content)


def _entry_in(line: bytes) -> Entry | None:
    """None: it is damaged."""
    checksum, _, content = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(content):
        return None
    scope, made_at, item = orjson.loads(content)
    return Entry(scope, made_at, Item(*item))


def _sync_folder(folder: Path) -> None:
    """So that the file is found after the power went. Not all systems can."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
