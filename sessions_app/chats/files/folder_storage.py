"""Files in a folder of the data directory."""

import os
import uuid
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage

from sessions_app.core.errors import InsufficientStorage
from sessions_app.core.storage.durable_files import FULL, sync_to_disk

CHUNK_BYTES = 65_536


class FolderStorage(FileSystemStorage):
    """Django's, but a file appears under its name only when all of it is on disk, and only the server's user may read it."""

    def _save(self, name: str, content: "File[Any]") -> str:
        path = Path(self.path(name))
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.part")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                for chunk in content.chunks(CHUNK_BYTES):
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
            sync_to_disk(path.parent)
        except OSError as error:
            part.unlink(missing_ok=True)
            if error.errno in FULL:
                raise InsufficientStorage from None
            raise
        return name
