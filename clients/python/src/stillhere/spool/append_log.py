"""The newest requests of a spool, a line for each save: to add one costs one write of the disk, where a table costs several.

The first line has the number below which nothing counts. To raise it empties the file in one step, whatever happens then to the
lines, which are removed next. A line whose writing was cut off is nobody's: its caller was not told that it is stored.
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

    def is_as_read(self) -> bool:
        """Also without the lock: emptying the file changes its first line."""
        return self._head_now() == self._head and self._size_now() == self.size

    def read(self) -> None:
        """Removes a line at the end that was cut off: another process may write one of the same length there."""
        if self.is_as_read():
            return
        with self._whole():
            head, size = self._head_now(), self._size_now()
            if head != self._head or size < self.size:
                self._forget()
                self._begin(head)
            if self.size:
                content = _read(self._file, self.size, size - self.size)
                if len(content) < size - self.size:
                    raise OSError(f"{self.path} cannot be read to its end.")
                self._take(content)
            if size > self.size:
                self._file.truncate(self.size)

    def append(self, entries: Sequence[Entry]) -> None:
        """All of them, behind what `read` has found, or none. Their numbers rise. They are on the disk when this returns."""
        end, head = self.size, self._head if self.size else _head(self.last)
        content = _line(entries)
        try:
            self._write(end, content if end else head + content)
            _sync(self._file.fileno())
        except BaseException:
            with suppress(OSError):
                self._file.truncate(end)
            raise
        with self._whole():
            self.entries += entries
            self.last, self._head = entries[-1].item.number, head
            self.size = (end or _HEAD_BYTES) + len(content)
            self._lines = (self._lines or 1) + 1

    def empty(self, last: int) -> None:
        """`last`: the last number that was given away, here or elsewhere."""
        with self._whole():
            head = _head(max(last, self.last))
            self._write(0, head)
            _sync(self._file.fileno())
            self._file.truncate(_HEAD_BYTES)
            self._forget()
            self._begin(head)

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

    def _write(self, start: int, content: bytes) -> None:
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
