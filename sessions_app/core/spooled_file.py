"""A response too large for memory: written to an unnamed file first, so that the store is read at its own speed
and not at a slow client's, and a failure becomes an error response and not half a file."""

from collections.abc import Callable, Iterator
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from django.conf import settings

IN_MEMORY_BYTES = 1_000_000
CHUNK_BYTES = 65_536


class SpooledFile(Iterator[bytes]):
    """What `write` wrote, in chunks. The consumer closes it, even if nothing was read."""

    def __init__(self, write: Callable[[BinaryIO], None]) -> None:
        spool = SpooledTemporaryFile(IN_MEMORY_BYTES, dir=str(settings.DATA_DIR))  # noqa: SIM115 - it outlives this call
        self._file = cast(BinaryIO, spool)
        try:
            write(self._file)
        except BaseException:
            self._file.close()
            raise
        self.size = self._file.tell()
        self._file.seek(0)

    def __next__(self) -> bytes:
        if chunk := self._file.read(CHUNK_BYTES):
            return chunk
        raise StopIteration

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
