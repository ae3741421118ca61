"""Files in a bucket of an S3-compatible service (`STILLHERE_FILES_URL`)."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, cast

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files.base import File
from s3transfer.exceptions import RetriesExceededError
from storages.backends.s3 import S3Storage

from sessions_app.core.errors import Unavailable

CONNECT_SECONDS, READ_SECONDS, ATTEMPTS = 5, 10, 2
# How long a request waits for a place, and how long it is told to stay away.
PLACE_SECONDS, RETRY_SECONDS = 2.0, 5
# What is larger is read through a file on disk.
IN_MEMORY_BYTES = 1_000_000
NOT_FOUND = 404


class FilesUnreachable(Unavailable):
    code, message = "files_unreachable", "The storage of files does not respond, or refuses. Try again shortly."


class _Places:
    """Half of the threads that run requests may wait for the bucket: one that does not respond holds up files, and nothing else.

    Where all of them wait, the others are refused: the first ones after a short wait, then at once.
    """

    def __init__(self, count: int) -> None:
        self._free = threading.BoundedSemaphore(count)
        self._full_at = -math.inf

    @contextmanager
    def one(self) -> Iterator[None]:
        """Raises FilesUnreachable."""
        is_full = time.monotonic() - self._full_at < RETRY_SECONDS
        if not self._free.acquire(timeout=0 if is_full else PLACE_SECONDS):
            self._full_at = time.monotonic()
            raise FilesUnreachable(retry_after=RETRY_SECONDS)
        try:
            yield
        finally:
            self._free.release()


# Of the process: threads that use the storage for the first time at once make one each.
places = _Places(max(1, settings.THREADS // 2))


class BucketStorage(S3Storage):  # type: ignore[misc]
    """django-storages' S3 storage with limits of time and memory. A failure is a refusal that names no address and no key."""

    def __init__(self, **options: Any) -> None:
        style = {"addressing_style": "path" if options.get("endpoint_url") else "auto"}
        client = Config(
            s3=style,
            signature_version="s3v4",
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"total_max_attempts": ATTEMPTS},
        )
        fixed = {"client_config": client, "max_memory_size": IN_MEMORY_BYTES, "file_overwrite": True, "default_acl": None}
        super().__init__(**options, **fixed)

    def _save(self, name: str, content: "File[Any]") -> str:
        with _told():
            return str(super()._save(name, content))

    def _open(self, name: str, mode: str = "rb") -> "File[Any]":
        with _told():
            found: File[Any] = super()._open(name, mode)
            try:
                found.seek(0)  # Reads it from the bucket.
            except BaseException:
                found.close()
                raise
            return found

    def delete(self, name: str) -> None:
        with _told():
            super().delete(name)

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        with _told():
            folders, files = super().listdir(path)
        return list(folders), list(files)

    def get_modified_time(self, name: str) -> datetime:
        with _told():
            return cast(datetime, super().get_modified_time(name))


@contextmanager
def _told() -> Iterator[None]:
    """What the bucket does, as this product says it."""
    with places.one():
        try:
            yield
        except (Boto3Error, BotoCoreError, ClientError, RetriesExceededError) as error:  # The last: a content broke off.
            if isinstance(error, ClientError) and error.response["ResponseMetadata"]["HTTPStatusCode"] == NOT_FOUND:
                raise FileNotFoundError from None
            raise FilesUnreachable(retry_after=RETRY_SECONDS) from None
