"""Imports a folder of JSON files into a project's memory. Unreadable files are skipped and listed, the rest are imported."""

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import batched
from pathlib import Path
from typing import Any

from memory_app.core.lease import lock_for_writing
from memory_app.key_value.entries.entry_values import NOTHING, CheckedEntry, EntryTooLarge, NewEntry, check_entry, exact_value
from memory_app.key_value.entries.entry_writer import MemoryFull, NamespaceFull
from memory_app.key_value.entries.services import store_entry
from memory_app.key_value.namespaces.schemas import read_settings
from memory_app.key_value.namespaces.services import put_settings
from memory_app.models.entry import ENTRY_BYTES
from memory_app.portability.folder.folder_format import (
    LONG,
    META,
    SUFFIX,
    Skipped,
    as_moment,
    as_noise_config,
    file_of,
    place_of,
    unwrapped,
    why,
)
from memory_app.portability.folder.metrics_import import add_errors, add_timings, check_errors, check_timings
from memory_app.portability.folder.safe_files import Folder, open_folder
from sessions_app.core.errors import AppError, Invalid
from sessions_app.core.public_names import Caller
from sessions_app.core.serialization import strict_json
from sessions_app.core.storage.transactions import write
from sessions_app.projects.services import raise_run_count

# Recorded data does not count for the quota; this limit is a bit above its maximum.
RECORDED_BYTES = 20_000_000
AT_ONCE = 20
MOST_META = 1_000_000
HISTORY, ENDPOINTS = ("errors", "history"), ("performance", "endpoints")


@dataclass(slots=True)
class Imported:
    """`entries`: stored now; `same`: unchanged; `redacted`: redacted secrets, by kind."""

    entries: int = 0
    same: int = 0
    errors: int = 0
    timings: int = 0
    redacted: Counter[str] = field(default_factory=Counter)
    skipped: Skipped = field(default_factory=Skipped)


@dataclass(frozen=True, slots=True)
class _File:
    place: str
    namespace: str
    key: str
    value: Any
    sent: Any = NOTHING


def import_memory(*, caller: Caller, project_id: uuid.UUID, path: Path) -> Imported:
    """A file's value becomes the entry's current one; the earlier one stays as a version. Raises LeaseHeld, and OSError if
    there is no folder."""
    done = Imported()
    with open_folder(path) as folder:
        _take_settings(caller, project_id, folder, done.skipped)
        for files in batched(_files(folder, done.skipped), AT_ONCE):
            entries = [file for file in files if (file.namespace, file.key) not in {HISTORY, ENDPOINTS}]
            _store(caller, project_id, entries, done)
            for file in files:
                _add_recorded(caller, project_id, file, done)
        _take_meta(project_id, folder, done.skipped)
    return done


def _files(folder: Folder, skipped: Skipped) -> Iterator[_File]:
    for name in folder.others():
        if name != META:
            skipped.add(ascii(name), "it is in no namespace")
    for namespace in folder.subfolders():
        try:
            with folder.subfolder(namespace) as sub:
                yield from _files_of(sub, namespace, skipped)
        except OSError as error:
            skipped.add(ascii(namespace), why(error))


def _files_of(sub: Folder, folder_name: str, skipped: Skipped) -> Iterator[_File]:
    for name in sub.subfolders():
        skipped.add(ascii(f"{folder_name}/{name}"), "it is a folder in a namespace")
    for name in sub.others():
        place = ascii(f"{folder_name}/{name}")[1:-1]
        namespace, key = place_of(folder_name, name.removesuffix(SUFFIX))
        if not name.endswith(SUFFIX):
            skipped.add(place, f"its name does not end in {SUFFIX}")
            continue
        if folder_name != LONG and file_of(namespace, key, b"")[:2] != (folder_name, name):
            skipped.add(place, "its name is not one that an export writes")
            continue
        is_recorded = (namespace, key) in {HISTORY, ENDPOINTS}
        try:
            content = sub.read(name, most=RECORDED_BYTES if is_recorded else 2 * ENTRY_BYTES)
            yield _file(place, namespace, key, content, is_long=folder_name == LONG)
        except OSError as error:
            skipped.add(place, why(error))
        except AppError as error:
            skipped.add(place, error.message)


def _file(place: str, namespace: str, key: str, content: bytes, *, is_long: bool) -> _File:
    """The file as an entry; `sent`: its value with characters that are only kept in exact namespaces."""
    value, replaced = strict_json.loads(content, within="value")
    sent = exact_value(content) if replaced else NOTHING
    if is_long:
        named = unwrapped(value)
        if named is None:
            raise Invalid("It is no entry with a long name.")
        namespace, key, value = named
        sent = sent["value"] if isinstance(sent, dict) else NOTHING
    return _File(place, namespace, key, value, sent)


def _store(caller: Caller, project_id: uuid.UUID, files: list[_File], done: Imported) -> None:
    checked = [found for file in files if (found := _checked(file, done.skipped)) is not None]

    def work() -> tuple[int, int, list[tuple[str, str]]]:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=None)
        stored, same, refused = 0, 0, list[tuple[str, str]]()
        for place, entry in checked:
            rev = store.rev
            try:
                store_entry(caller=caller, store=store, entry=entry)
            except (MemoryFull, NamespaceFull, EntryTooLarge) as error:
                refused.append((place, error.message))
                continue
            stored, same = stored + (store.rev > rev), same + (store.rev == rev)
        return stored, same, refused

    if not checked:
        return
    stored, same, refused = write(work)
    done.entries, done.same = done.entries + stored, done.same + same
    done.skipped.items += refused
    left_out = {place for place, _ in refused}
    for place, entry in checked:
        if place not in left_out:
            done.redacted.update(entry.redacted)


def _checked(file: _File, skipped: Skipped) -> tuple[str, CheckedEntry] | None:
    value = file.value
    if (file.namespace, file.key) == ("noise", "config"):
        value, left_out = as_noise_config(value)
        for rule in left_out:
            skipped.add(f"{file.place}: rule {rule}", "it looks at more than an error's message")
    try:
        return file.place, check_entry(NewEntry(file.namespace, file.key, value, file.sent))
    except AppError as error:
        skipped.add(file.place, error.message)
        return None


def _add_recorded(caller: Caller, project_id: uuid.UUID, file: _File, done: Imported) -> None:
    if (file.namespace, file.key) == HISTORY:
        errors = check_errors(file.value, file.place, done.skipped)
        done.errors += write(lambda: add_errors(caller=caller, project_id=project_id, errors=errors))
        for error in errors:
            done.redacted.update(error.error.redacted)
    if (file.namespace, file.key) == ENDPOINTS:
        timings, redacted = check_timings(file.value, file.place, done.skipped)
        done.redacted.update(redacted)
        done.timings += write(lambda: add_timings(caller=caller, project_id=project_id, timings=timings))


def _take_settings(caller: Caller, project_id: uuid.UUID, folder: Folder, skipped: Skipped) -> None:
    """The settings of namespaces, before the entries that they apply to. What cannot be read of the file is told later. Raises
    LeaseHeld, as the entries would be refused too."""
    try:
        meta, _ = strict_json.loads(folder.read(META, most=MOST_META))
    except (OSError, AppError):
        return
    rows = meta.get("namespace_settings", []) if isinstance(meta, dict) else []

    def work() -> list[tuple[str, str]]:
        lock_for_writing(caller=caller, project_id=project_id, run_id=None)
        refused = list[tuple[str, str]]()
        for number, row in enumerate(rows):
            try:
                namespace, values = read_settings(row)
                put_settings(caller=caller, project_id=project_id, namespace=namespace, values=values)
            except AppError as error:
                refused.append((f"{META}: namespace_settings.{number}", error.message))
        return refused

    if isinstance(rows, list) and rows:
        skipped.items += write(work)


def _take_meta(project_id: uuid.UUID, folder: Folder, skipped: Skipped) -> None:
    """Continues the number of runs from the folder's."""
    try:
        meta, _ = strict_json.loads(folder.read(META, most=MOST_META))
    except FileNotFoundError:
        return
    except (OSError, AppError) as error:
        skipped.add(META, error.message if isinstance(error, AppError) else why(error))
        return
    count = meta.get("session_count") if isinstance(meta, dict) else None
    if type(count) is not int or not 0 <= count < 2**31:
        skipped.add(META, "it has no `session_count`")
        return
    last: datetime | None = as_moment(meta.get("last_session"))
    write(lambda: raise_run_count(project_id=project_id, count=count, last_at=last))
