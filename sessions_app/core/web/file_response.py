"""A response whose body is an open file. The server sends it without holding a thread; other servers stream it."""

from collections.abc import Iterator
from typing import BinaryIO

from django.http import StreamingHttpResponse

CHUNK_BYTES = 65_536


class FileBody(Iterator[bytes]):
    """The next `length` bytes of a file, in chunks. Its reader closes it."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file, self._left = file, length

    def __next__(self) -> bytes:
        chunk = self._file.read(min(CHUNK_BYTES, self._left)) if self._left else b""
        if not chunk:
            raise StopIteration
        self._left -= len(chunk)
        return chunk

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()


class FileResponse(StreamingHttpResponse):
    def __init__(self, body: FileBody, *, length: int, status: int = 200, content_type: str) -> None:
        super().__init__(body, status=status, content_type=content_type)
        self.body: FileBody | None = body
        self["Content-Length"] = str(length)

    def take(self) -> FileBody | None:
        """The body, which is no longer closed with the response; None if it was taken."""
        body, self.body = self.body, None
        # Django closes what the response streams.
        self._resource_closers.clear()  # type: ignore[attr-defined]
        return body
