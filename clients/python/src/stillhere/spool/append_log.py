"""The newest requests of a spool, a line for each save: to add one costs one write of the disk, where a table costs several.

The first line has the number below which nothing counts. To raise it empties the file in one step, whatever happens then to the
lines, which are removed next. A line whose writing was cut off is nobody's: its caller was not told that it is stored.

Behind the lines are zeros, written before there is a line for their place: a line that does not make the file longer is on the
disk in two thirds of the time. They are no lines, and a log without them is one too.
"""

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import orjson

from stillhere.spool.items import DamagedSpool, Item

DAMAGED = (
    "The spool file {path} is damaged: line {line} is none of its own, and others follow. Nothing was removed from it. Move it "
    "away, so that a new one begins. Each line is a checksum and a request as JSON: some may not have been sent."
)
# So many zeros are written at once.
AHEAD = 65_536
_BEGINNING = b"stillhere spool, log 1: "
# On macOS and Windows there is only the other one.
_sync = getattr(os, "fdatasync", os.fsync)


def _head(last: int) -> bytes:
    number = b"%020d" % last
    return b"%s%s %08x\n" % (_BEGINNING, number, zlib.crc32(number))


_HEAD_BYTES = len(_head(0))
_ENDS = (b"\n", b"\n\0")


class Entry(NamedTuple):
    """`made_at`: seconds since 1970."""

    scope: str
    made_at: float
    item: Item


class AppendLog:
    """Several processes may share the file. The caller of `read`, `append` or `empty` holds a lock that keeps all others from it.
    `entries`: what was there at the last `read`. Raises OSError if the disk takes nothing, and DamagedSpool."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: BinaryIO | None = None
        self._forget()

    def _forget(self) -> None:
        self.entries: list[Entry] = []
        # The last number that was given away.
        self.last = 0
        # The first line, and the bytes and number of lines.
        self._head, self.size, self._lines = b"", 0, 0
        # Where the zeros end.
        self._room = 0

    def is_as_read(self) -> bool:
        """Also without the lock: emptying the file changes its first line."""
        return self._head_now() == self._head and (not self.size or self._end_now() in _ENDS)

    def read(self) -> None:
        """Removes a line at the end that was cut off: another process may write one of the same length there."""
        if self.is_as_read():
            return
        with self._whole():
            head, size = self._head_now(), self._size_now()
            if head != self._head or size < self.size:
                self._forget()
                self._begin(head)
            if not self.size or self._take_up_to(size):
                self._file.truncate(self.size)
                size = self.size
            self._room = size

    def append(self, entries: Sequence[Entry]) -> None:
        """All of them, behind what `read` has found, or none. Their numbers rise. They are on the disk when this returns."""
        end, head = self.size, self._head if self.size else _head(self.last)
        content = _line(entries) if end else head + _line(entries)
        try:
            self._write(end, content)
            self._make_room(end + len(content))
            _sync(self._file.fileno())
        except BaseException:
            with suppress(OSError):
                self._file.truncate(end)
            raise
        with self._whole():
            self.entries += entries
            self.last, self._head = entries[-1].item.number, head
            self.size = end + len(content)
            self._lines = (self._lines or 1) + 1

    def empty(self, last: int) -> None:
        """Needs entries. `last`: the last number that was given away, here or elsewhere."""
        with self._whole():
            head = _head(max(last, self.last))
            self._write(0, head)
            _sync(self._file.fileno())
            room = self._clear()
            self._forget()
            self._begin(head)
            self._room = room

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

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What is interrupted in between, by Ctrl-C too, leaves nothing known, so that the next `read` begins from nothing."""
        try:
            yield
        except BaseException:
            self._forget()
            raise

    def _begin(self, head: bytes) -> None:
        """A first line that was cut off, or never written when the power went, is none: nothing behind it was acknowledged."""
        written = head.rstrip(b"\0")
        if len(written) == _HEAD_BYTES:
            digits = head[len(_BEGINNING) :].partition(b" ")[0]
            if digits.isdigit() and head == _head(int(digits)):
                self._head, self.last, self.size, self._lines = head, int(digits), _HEAD_BYTES, 1
                return
        elif written[: len(_BEGINNING)] == _BEGINNING[: len(written)]:
            return
        raise DamagedSpool(DAMAGED.format(path=self.path, line=1))

    def _take_up_to(self, size: int) -> bytes:
        """Returns what is behind the lines and is no room for others."""
        start = self.size
        content = _read(self._file, start, size - start)
        if len(content) < size - start:
            raise OSError(f"{self.path} cannot be read to its end.")
        self._take(content)
        return content[self.size - start :].strip(b"\0")

    def _take(self, content: bytes) -> None:
        wrong = 0
        for number, line in enumerate(content.split(b"\n")[:-1], self._lines + 1):
            entries = _entries_in(line)
            if not entries:
                wrong = wrong or number
            elif entries[0].item.number > self.last:
                if wrong:
                    raise DamagedSpool(DAMAGED.format(path=self.path, line=wrong))
                self.entries += entries
                self.last = entries[-1].item.number
            if not wrong:
                self.size += len(line) + 1
                self._lines = number

    def _make_room(self, end: int) -> None:
        if end > self._room:
            with suppress(OSError):  # A full disk may take the line alone.
                self._write(end, bytes(AHEAD))
                self._room = end + AHEAD

    def _clear(self) -> int:
        """Overwrites the lines, so that the disk does not keep them; a long file gives its room back. Returns where it ends."""
        if self.size <= AHEAD:
            with suppress(OSError):
                self._write(_HEAD_BYTES, bytes(self.size - _HEAD_BYTES))
                return self._room
        self._file.truncate(_HEAD_BYTES)
        return _HEAD_BYTES

    def _write(self, start: int, content: bytes) -> None:
        self._file.seek(start)
        left = memoryview(content)
        while left:
            left = left[self._file.write(left) :]

    def _head_now(self) -> bytes:
        return _read(self._file, 0, _HEAD_BYTES)

    def _end_now(self) -> bytes:
        """The last byte that is known, and the next one."""
        return _read(self._file, self.size - 1, 2)

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


def _line(entries: Sequence[Entry]) -> bytes:
    """One for all: it is there as a whole, or not. Raises ValueError for half a character in a name."""
    try:
        content = orjson.dumps([[each.scope, each.made_at, list(each.item)] for each in entries])
    except TypeError as error:
        raise ValueError(f"The id of a session cannot be stored: {error}") from error
    return b"%08x %s\n" % (zlib.crc32(content), content)


def _entries_in(line: bytes) -> list[Entry]:
    """None: it is damaged."""
    checksum, _, content = line.partition(b" ")
    if not content or checksum != b"%08x" % zlib.crc32(content):
        return []
    return [Entry(scope, made_at, Item(*item)) for scope, made_at, item in orjson.loads(content)]


def _sync_folder(folder: Path) -> None:
    """So that the file is found after the power went. Not all systems can."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
