"""An answer too long for the memory: written to a file without a name first, so that the store is read at its own speed
and not at a slow client's, and a failure is an answer and not half a file."""

from collections.abc import Callable, Iterator
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from django.conf import settings

IN_MEMORY_BYTES = 1_000_000
CHUNK_BYTES = 65_536


class Spooled(Iterator[bytes]):
    """What `write` wrote, piece by piece. Whoever takes it closes it, also where nobody came to read."""

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
