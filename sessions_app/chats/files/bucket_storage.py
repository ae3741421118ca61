"""Files in a bucket of an S3-compatible service (`STILLHERE_FILES_URL`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, cast

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from storages.backends.s3 import S3Storage

from sessions_app.core.errors import Unavailable

CONNECT_SECONDS, READ_SECONDS, ATTEMPTS = 5, 30, 3
# What is larger is read through a file on disk.
IN_MEMORY_BYTES = 1_000_000
NOT_FOUND = 404


class FilesUnreachable(Unavailable):
    code, message = "files_unreachable", "The storage of files does not respond, or refuses. Try again shortly."


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
            found.seek(0)  # Reads it from the bucket.
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
    try:
        yield
    except (Boto3Error, BotoCoreError, ClientError) as error:
        if isinstance(error, ClientError) and error.response["ResponseMetadata"]["HTTPStatusCode"] == NOT_FOUND:
            raise FileNotFoundError from None
        raise FilesUnreachable(retry_after=5) from None
