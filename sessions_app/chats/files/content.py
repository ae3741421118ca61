"""What arrives as a file: written to disk while it arrives, then named and typed. Neither name nor type is trusted."""

import hashlib
import re
from collections.abc import Iterable
from tempfile import TemporaryFile
from types import TracebackType
from typing import BinaryIO, Self, cast

from django.conf import settings

from sessions_app.core.errors import TooLarge
from sessions_app.core.redaction import redact_text
from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.models.file import MEDIA_TYPE_LENGTH, NAME_LENGTH

UNKNOWN = "application/octet-stream"
# What `curl --data-binary` says of any file.
_SAYS_NOTHING = {"application/x-www-form-urlencoded", ""}
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_SNIFFED_BYTES = 32
# Never SVG: it is a document, with scripts.
_IMAGES = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF.{4}WEBP", re.DOTALL)),
    ("image/avif", re.compile(rb".{4}ftypavi[fs]", re.DOTALL)),
)
# The types that browsers show; only content that begins as such an image has one of them.
IMAGES = frozenset(name for name, _ in _IMAGES)


class FileTooLarge(TooLarge):
    def __init__(self) -> None:
        limit = settings.MAX_FILE_BYTES
        super().__init__(f"A file has at most {limit:,} bytes.", code="body_too_large", details={"limit": limit})


class Incoming:
    """A file while it arrives: on disk without a name, so that nothing is left of one that breaks off."""

    def __init__(self) -> None:
        self.file = cast(BinaryIO, TemporaryFile(dir=str(settings.DATA_DIR)))  # noqa: SIM115 - `close` does it
        self._digest = hashlib.sha256()
        self.size_bytes = 0
        self.head = b""

    def take(self, chunks: Iterable[bytes]) -> Self:
        """Raises FileTooLarge."""
        for chunk in chunks:
            self.size_bytes += len(chunk)
            if self.size_bytes > settings.MAX_FILE_BYTES:
                raise FileTooLarge
            if len(self.head) < _SNIFFED_BYTES:
                self.head = (self.head + chunk)[:_SNIFFED_BYTES]
            self._digest.update(chunk)
            self.file.write(chunk)
        return self

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        self.file.close()


def media_type_of(declared: str, head: bytes) -> str:
    """The type of a file that begins with `head`: an image's by its content, any other's as it was declared."""
    for name, begins in _IMAGES:
        if begins.match(head):
            return name
    plain = declared.partition(";")[0].strip().lower()
    fits = len(plain) <= MEDIA_TYPE_LENGTH and _MEDIA_TYPE.fullmatch(plain) and plain not in _SAYS_NOTHING
    return plain if fits and plain not in IMAGES else UNKNOWN


def clean_name(name: str) -> str:
    """A name without folders, control characters and secrets: what a person sees, and saves it as."""
    last = _CONTROL.sub("", clean_text(name)).replace("\\", "/").rpartition("/")[2].strip()
    kept = redact_text(last)[0].rstrip(". ")
    if len(kept) <= NAME_LENGTH:
        return kept or "file"
    stem, dot, ending = kept.rpartition(".")
    return f"{stem[: NAME_LENGTH - len(ending) - 1]}.{ending}" if dot and len(ending) <= 16 else kept[:NAME_LENGTH]
