"""Files of chats in tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.core.signals import request_finished
from django.db import close_old_connections

from tests.support.chat import Chat

PNG = (
    b"\x89PNG\r\n\x1a\n"
    b"\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89"
    b"\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82"
)


@contextmanager
def folder_of_files(settings: Any, folder: Path) -> Iterator[Path]:
    """Within the block files are stored in this folder."""
    settings.STORAGES = {**settings.STORAGES, "files": {**settings.STORAGES["files"], "OPTIONS": {"location": folder}}}
    yield folder


def upload(chat: Chat, content: bytes, *, name: str = "notes.txt", media_type: str = "text/plain") -> Any:
    address = f"/api/v1/sessions/{chat.id}/files?{urlencode({'name': name})}"
    return chat.api.client.generic("POST", address, content, content_type=media_type)


def with_file(message_id: str, reference: str, **part: Any) -> dict[str, Any]:
    """An op that saves a message with this file."""
    parts = [{"type": "text", "text": "Look."}, {"type": "file", "file": reference, **part}]
    return {"op": "upsert", "id": message_id, "role": "user", "parts": parts}


def stored(folder: Path) -> list[Path]:
    """The files in the folder of files."""
    return [path for path in folder.rglob("*") if path.is_file()]


@contextmanager
def closed_at_last(answer: Any) -> Iterator[Any]:
    """A response that may hold a file. Closing it ends a request, and Django would then close a connection of PostgreSQL that is
    in a test's transaction."""
    request_finished.disconnect(close_old_connections)
    try:
        yield answer
    finally:
        answer.close()
        request_finished.connect(close_old_connections)
