"""A project's memory as one ZIP file: what `folder_export` writes, for users without a shell on the server."""

import uuid
from collections.abc import Iterator
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile

import orjson

from memory_app.core.stored_json import is_json
from memory_app.key_value.entries.generated import GENERATED
from memory_app.models import MemoryEntry
from memory_app.portability.folder.folder_export import CHUNK, meta_of
from memory_app.portability.folder.folder_format import FOLDER, META, file_of
from sessions_app.core.public_names import Caller, now
from sessions_app.core.storage.snapshot_reads import one_moment


def zip_memory(*, caller: Caller, project_id: uuid.UUID, to: BinaryIO) -> None:
    """A consistent snapshot. Damaged values are left out, because other tools read the file."""
    with one_moment(), ZipFile(to, "w", ZIP_DEFLATED) as made:
        meta = meta_of(caller, project_id)
        made.writestr(f"{FOLDER}/{META}", orjson.dumps(meta, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        for namespace, key, value in _values(project_id):
            if not is_json(value):
                continue
            folder, name, content = file_of(namespace, key, value.encode())
            made.writestr(f"{FOLDER}/{folder}/{name}", content)


def _values(project_id: uuid.UUID) -> Iterator[tuple[str, str, str]]:
    rows = MemoryEntry.objects.live_at(now()).filter(project_id=project_id).order_by("namespace", "key")
    for namespace, key, value in rows.values_list("namespace", "key", "value").iterator(chunk_size=CHUNK):
        yield namespace, key, value
    for (namespace, key), source in GENERATED.items():
        if source.recorded_at(project_id) is not None:
            yield namespace, key, orjson.dumps(source.value(project_id)).decode()
