"""Files in exports: before all rows, each in pieces of one line, so that no line and no reader needs much memory.

`{"file": {"sha256", "name", "media_type", "size_bytes", "created_at", "offset", "data"}}`; `data` is base64.
"""

import base64
import binascii
import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, BinaryIO

from django.conf import settings
from django.db.models import QuerySet

from sessions_app.chats.files import blobs
from sessions_app.chats.files.content import Incoming, clean_name
from sessions_app.chats.files.queries import digest_of
from sessions_app.core.storage.sql import rfc3339
from sessions_app.models import StoredFile
from sessions_app.portability.secret_removal import WrongValue

logger = logging.getLogger(__name__)
# The name of these lines.
FILE = "file"
PIECE_BYTES = 1_500_000
FILES_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Piece:
    """A line's object."""

    sha256: str
    name: str
    media_type: str
    size_bytes: int
    created_at: str
    offset: int
    data: str


def piece_count(files: QuerySet[StoredFile]) -> int:
    """How many lines these files will have, if none is collected meanwhile."""
    return sum(max(1, -(-size // PIECE_BYTES)) for size in files.values_list("size_bytes", flat=True).iterator())


def pieces_of(files: QuerySet[StoredFile]) -> Iterator[dict[str, Any]]:
    """The lines of these files. A file that was collected meanwhile has none: nothing refers to it. Nor has a damaged one."""
    for file in files.iterator(chunk_size=FILES_AT_ONCE):
        content = _whole_content(file)
        if content is None:
            continue
        told = {"sha256": file.sha256, "name": file.name, "media_type": file.media_type, "size_bytes": file.size_bytes}
        with closing(content):
            for offset in range(0, max(1, file.size_bytes), PIECE_BYTES):
                data = base64.b64encode(content.read(PIECE_BYTES)).decode()
                yield {FILE: {**told, "created_at": rfc3339(file.created_at), "offset": offset, "data": data}}


def _whole_content(file: StoredFile) -> BinaryIO | None:
    """None if it is gone, or damaged on disk: an import would refuse it, and with it the whole export."""
    try:
        content = blobs.read(file.key)
    except FileNotFoundError:
        logger.warning("an export leaves out a file that is gone: %s", file.key)
        return None
    digest = hashlib.sha256()
    while piece := content.read(PIECE_BYTES):
        digest.update(piece)
    if digest.hexdigest() == file.sha256:
        content.seek(0)
        return content
    content.close()
    logger.warning("an export leaves out a file that is damaged: %s", file.key)
    return None


class FilesInFile:
    """Puts the pieces of an export's files together and checks them. `keep` gets each whole file."""

    def __init__(self, keep: Callable[[Incoming, Piece, datetime], None] | None = None) -> None:
        self._keep = keep
        self._incoming: Incoming | None = None
        self._of: Piece | None = None
        self.count = 0

    def take(self, value: Any) -> None:
        """Raises WrongValue: the message says what is wrong."""
        piece, at, data = _read(value)
        if piece.size_bytes > settings.MAX_FILE_BYTES:
            most = f"{settings.MAX_FILE_BYTES:,} bytes (STILLHERE_MAX_FILE_BYTES)"
            raise WrongValue(f"a file of a chat has {piece.size_bytes:,} bytes, and this server takes at most {most}")
        if self._incoming is None:
            self._incoming, self._of = Incoming(), piece
        incoming, of = self._incoming, self._of
        if of is None or (piece.sha256, piece.size_bytes, piece.offset) != (of.sha256, of.size_bytes, incoming.size_bytes):
            raise WrongValue("a piece of a file is missing or out of order")
        incoming.take([data])
        if incoming.size_bytes < of.size_bytes and data:
            return
        if (incoming.size_bytes, incoming.sha256) != (of.size_bytes, of.sha256):
            raise WrongValue("the content of a file does not have its sha256")
        if self._keep is not None:
            self._keep(incoming, of, at)
        self.count += 1
        self.close()

    def check_whole(self) -> None:
        if self._incoming is not None:
            raise WrongValue("a file before this line is not complete")

    def close(self) -> None:
        if self._incoming is not None:
            self._incoming.close()
        self._incoming = self._of = None


def _read(value: Any) -> tuple[Piece, datetime, bytes]:
    names = {field.name: field.type for field in fields(Piece)}
    if not isinstance(value, dict) or value.keys() != names.keys():
        raise WrongValue(f"a file has the fields {', '.join(names)}")
    if not all(type(value[name]) is kind for name, kind in names.items()):
        raise WrongValue("file has a wrong value")
    piece = Piece(**{**value, "name": clean_name(value["name"])})
    try:
        at, data = datetime.fromisoformat(piece.created_at), base64.b64decode(piece.data, validate=True)
    except (ValueError, binascii.Error):
        raise WrongValue("file has a wrong value") from None
    if at.tzinfo is None or digest_of(piece.sha256) != piece.sha256:
        raise WrongValue("file has a wrong value")
    return piece, at.astimezone(UTC), data
