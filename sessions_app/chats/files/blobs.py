"""The content of files: where it is stored, and what of it no row names.

Two stores may share the folder: of a server that is moved from SQLite to PostgreSQL, or tried there. So a key tells its store.
"""

import hashlib
import re
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import BinaryIO, cast

from django.core.files.base import File
from django.core.files.storage import Storage, storages

from sessions_app.core.storage.store_incarnation import store_made_at

_OF_STORE = re.compile(r"-([0-9a-f]{8})-[0-9a-f]{12}")


def new_key(owner_id: int, sha256: str) -> str:
    """A new key for this content of an account. Keys are never used twice."""
    return f"{owner_id}/{sha256[:2]}/{sha256}-{_this_store()}-{uuid.uuid4().hex[:12]}"


def is_of_this_store(key: str) -> bool:
    """Whether this store, and no other one, put it there. Older keys do not tell: then whether it can have."""
    if (told := _OF_STORE.search(key)) is not None:
        return told[1] == _this_store()
    at = stored_at(key)
    return at is not None and at >= store_made_at()


def _this_store() -> str:
    return hashlib.sha256(store_made_at().isoformat().encode()).hexdigest()[:8]


def put(key: str, content: BinaryIO) -> None:
    """Store the content durably. Raises InsufficientStorage or FilesUnreachable; then nothing has this key."""
    content.seek(0)
    _storage().save(key, File(content, name=key))


def read(key: str) -> BinaryIO:
    """The content, from its beginning. Raises FileNotFoundError."""
    return cast(BinaryIO, _storage().open(key, "rb"))


def delete(keys: list[str]) -> None:
    for key in keys:
        _storage().delete(key)


def keys_of(owner_id: int) -> Iterator[str]:
    """Every stored key of an account, also of content that is still being written."""
    for folder in _names(f"{owner_id}")[0]:
        for name in _names(f"{owner_id}/{folder}")[1]:
            yield f"{owner_id}/{folder}/{name}"


def owners() -> list[int]:
    """The accounts that have stored content, also those that no longer exist."""
    return [int(name) for name in _names("")[0] if name.isdecimal()]


def stored_at(key: str) -> datetime | None:
    """When it was written; None if it is gone."""
    with suppress(FileNotFoundError):
        return _storage().get_modified_time(key)
    return None


def _names(path: str) -> tuple[list[str], list[str]]:
    with suppress(FileNotFoundError):
        return _storage().listdir(path)
    return [], []


def _storage() -> Storage:
    return storages["files"]
