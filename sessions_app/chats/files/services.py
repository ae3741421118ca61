"""Storing files. The content is on disk before the row that names it, so no row is without content."""

import uuid
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.db import IntegrityError

from sessions_app.chats.files import blobs
from sessions_app.chats.files.content import Incoming, clean_name, media_type_of
from sessions_app.chats.files.queries import FileInfo, visible_files
from sessions_app.chats.reading.sessions import get_session
from sessions_app.core.errors import AppError, Unavailable
from sessions_app.core.storage.transactions import write
from sessions_app.models import Caller, SessionFile, StoredFile
from sessions_app.models.times import now

# The file may be collected, or stored by somebody else, between two steps.
ATTEMPTS = 3


def upload_file(*, caller: Caller, session_id: uuid.UUID, file: Incoming, name: str, media_type: str) -> tuple[FileInfo, bool]:
    """Store a file for the messages of a session; returns it, and whether it is new to the caller. Idempotent.

    Raises SessionNotFound, SessionDeleted, InsufficientStorage, FilesUnreachable.
    """
    get_session(caller=caller, session_id=session_id)
    known, named = visible_files(caller).filter(sha256=file.sha256).exists(), clean_name(name)
    row = store_file(owner_id=caller.user_id, file=file, name=named, media_type=media_type)
    into = {"session_id": session_id, "sha256": file.sha256}

    def note() -> None:
        get_session(caller=caller, session_id=session_id)
        if not SessionFile.objects.filter(**into).update(name=named):
            SessionFile.objects.bulk_create([SessionFile(**into, name=named)], ignore_conflicts=True)

    write(note)
    return FileInfo(row.sha256, named, row.media_type, row.size_bytes), not known


def store_file(*, owner_id: int, file: Incoming, name: str, media_type: str, created_at: datetime | None = None) -> StoredFile:
    """The account's row for this content, which is stored now unless it is there already."""
    same = StoredFile.objects.filter(owner_id=owner_id, sha256=file.sha256)
    fields = {"name": name, "media_type": media_type_of(media_type, file.head), "size_bytes": file.size_bytes}
    for _ in range(ATTEMPTS):
        # Not a lock that a save would wait for: its triggers ask for the row too.
        if write(lambda: same.update(uploaded_at=now())) and (row := same.first()) is not None:
            return row
        if (row := _stored_again(owner_id, file, fields | {"created_at": created_at or now()})) is not None:
            return row
    raise RuntimeError("a file was stored and removed again and again")


def _stored_again(owner_id: int, file: Incoming, fields: dict[str, Any]) -> StoredFile | None:
    """None if somebody else was faster."""
    row = StoredFile(owner_id=owner_id, sha256=file.sha256, key=blobs.new_key(owner_id, file.sha256), **fields)
    try:
        blobs.put(row.key, file.file)
        write(lambda: StoredFile.objects.bulk_create([row]))
    except IntegrityError:
        blobs.delete([row.key])
        return None
    except Unavailable:  # A bucket that is away deletes nothing either. What it has of this content is collected later.
        raise
    except BaseException:
        blobs.delete([row.key])
        raise
    return row


def delete_content(user_id: int) -> None:
    """Delete the content of all files of an account that was deleted. What fails is collected later."""
    with suppress(OSError, AppError):
        blobs.delete([key for key in blobs.keys_of(user_id) if blobs.is_of_this_store(key)])
