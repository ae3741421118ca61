"""A project's memory as a folder of JSON files."""

import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from memory_app.core.stored_json import is_json
from memory_app.key_value.entries.generated import GENERATED
from memory_app.key_value.namespaces.queries import list_settings, settings_json
from memory_app.models import MemoryEntry, MemoryStore
from memory_app.portability.folder.folder_format import FORMAT, META, SUFFIX, Skipped, file_of, why
from memory_app.portability.folder.gitignore import ignore
from memory_app.portability.folder.safe_files import Folder, open_folder
from sessions_app.core.public_names import Caller, now, rfc3339
from sessions_app.core.storage.snapshot_reads import one_moment
from sessions_app.projects.queries import get_project

# Rows of a statement in memory at once; a value can have a megabyte.
CHUNK = 20


@dataclass(slots=True)
class Exported:
    """`removed`: files of an earlier export whose entries were deleted; `ignored_in`: the `.gitignore` that was changed."""

    written: int = 0
    removed: int = 0
    ignored_in: Path | None = None
    skipped: Skipped = field(default_factory=Skipped)


def export_memory(*, caller: Caller, project_id: uuid.UUID, path: Path) -> Exported:
    """Make the folder at `path` match the memory, file by file. Raises OSError if it cannot be written at all."""
    done = Exported()
    with open_folder(path, make=True) as folder:
        _keep_from_git(path, done)
        is_own = _is_own(folder)
        with one_moment():
            names = _write_entries(folder, project_id, done)
            _write_generated(folder, project_id, names, done)
            meta = meta_of(caller, project_id)
        if is_own:
            _remove_others(folder, names, done)
        folder.write(META, orjson.dumps(meta, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        folder.sync()
    return done


def _keep_from_git(path: Path, done: Exported) -> None:
    try:
        done.ignored_in = ignore(path)
    except OSError as error:
        done.skipped.add(".gitignore", why(error))


def _is_own(folder: Folder) -> bool:
    """Whether an export made the folder: then files without an entry may be removed."""
    try:
        meta = orjson.loads(folder.read(META, most=1_000_000))
    except (OSError, ValueError):
        return False
    return isinstance(meta, dict) and meta.get("format") == FORMAT


def meta_of(caller: Caller, project_id: uuid.UUID) -> dict[str, object]:
    """The content of `meta.json`, including the field names of other tools."""
    project = get_project(caller=caller, project_id=project_id)
    made_at = MemoryStore.objects.filter(project_id=project_id).values_list("created_at", flat=True).first()
    last = project.last_session_at
    return {
        "format": FORMAT,
        "version": 1,
        "project_path": project.path,
        "first_created": rfc3339(made_at or project.created_at),
        "last_session": None if last is None else rfc3339(last),
        "session_count": max(1, project.session_count),
        "exported_at": rfc3339(now()),
        "namespace_settings": [settings_json(row) for row in list_settings(caller=caller, project_id=project_id)],
    }


def _write_entries(folder: Folder, project_id: uuid.UUID, done: Exported) -> dict[str, set[str]]:
    """Writes the entries; returns the names of their files, by namespace."""
    names: dict[str, set[str]] = defaultdict(set)
    rows = MemoryEntry.objects.live_at(now()).filter(project_id=project_id).order_by("namespace", "key")
    for namespace, key, value in rows.values_list("namespace", "key", "value").iterator(chunk_size=CHUNK):
        _write(folder, namespace, key, value, names, done)
    return names


def _write_generated(folder: Folder, project_id: uuid.UUID, names: dict[str, set[str]], done: Exported) -> None:
    for (namespace, key), source in GENERATED.items():
        if source.recorded_at(project_id) is not None:
            _write(folder, namespace, key, orjson.dumps(source.value(project_id)).decode(), names, done)


def _write(folder: Folder, namespace: str, key: str, value: str, names: dict[str, set[str]], done: Exported) -> None:
    place = f"{namespace}/{key}{SUFFIX}"
    sub_name, name, content = file_of(namespace, key, value.encode())
    # Before it is written: if writing fails, the file of an earlier export stays.
    names[sub_name].add(name)
    if not is_json(value):
        done.skipped.add(place, "its stored value is damaged")
        return
    try:
        with folder.subfolder(sub_name, make=True) as sub:
            sub.write(name, content)
    except OSError as error:
        done.skipped.add(place, why(error))
    else:
        done.written += 1


def _remove_others(folder: Folder, names: dict[str, set[str]], done: Exported) -> None:
    for namespace in folder.subfolders():
        try:
            with folder.subfolder(namespace) as sub:
                gone = [name for name in sub.others() if name.endswith(SUFFIX) and name not in names.get(namespace, ())]
                for name in gone:
                    sub.remove(name)
                done.removed += len(gone)
                is_empty = not sub.others() and not sub.subfolders()
            if is_empty:
                folder.remove_subfolder(namespace)
        except OSError as error:
            done.skipped.add(namespace, why(error))
