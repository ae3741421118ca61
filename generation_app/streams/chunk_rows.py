"""Writes the rows of new chunks, and tells the readers after the commit."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from generation_app.streams import hub
from generation_app.streams.queries import OPEN
from sessions_app.core.public_names import db_time, db_uuid, now
from sessions_app.core.storage.sql import execute_together
from sessions_app.core.storage.statement_batch import Work

# Of one row. A reader that does not read keeps what it was given last.
ROW_BYTES = 64_000
_INSERT = "INSERT INTO generation_app_streampiece (stream_id, first, count, chunks) VALUES (%s, %s, %s, %s)"
_UPDATE = "UPDATE generation_app_stream SET chunk_count = %s, size_bytes = %s, written_at = %s WHERE id = %s"


@dataclass(frozen=True, slots=True)
class NewChunks:
    """The next chunks of a stream that is locked, as JSON texts. `first`: the first one's number; `size_bytes`: of all chunks."""

    stream_id: uuid.UUID
    first: int
    chunks: Sequence[str]
    size_bytes: int

    @property
    def end(self) -> int:
        """The number of the next chunk."""
        return self.first + len(self.chunks)


def size_of(chunks: Sequence[str]) -> int:
    return sum(len(chunk.encode()) for chunk in chunks)


def store_chunks(written: Sequence[NewChunks]) -> None:
    """Two statements for any number of streams and rows."""
    if not written:
        return
    at = db_time(now())
    rows: list[Sequence[Any]] = [
        [db_uuid(one.stream_id), first, len(chunks), "\n".join(chunks)] for one in written for first, chunks in _pieces(one)
    ]
    ends: list[Sequence[Any]] = [[one.end, one.size_bytes, at, db_uuid(one.stream_id)] for one in written]
    execute_together([Work(_INSERT, rows), Work(_UPDATE, ends)])
    transaction.on_commit(lambda: _push(written), robust=True)


def _pieces(written: NewChunks) -> Iterator[tuple[int, Sequence[str]]]:
    """The chunks of each row, after the number of the first one."""
    begin, size = 0, 0
    for at, chunk in enumerate(written.chunks):
        size += len(chunk.encode())
        if size > ROW_BYTES and at > begin:
            yield written.first + begin, written.chunks[begin:at]
            begin, size = at, len(chunk.encode())
    yield written.first + begin, written.chunks[begin:]


def _push(written: Sequence[NewChunks]) -> None:
    for one in written:
        hub.push(one.stream_id, one.first, one.chunks, OPEN)
