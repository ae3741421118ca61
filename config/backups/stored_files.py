"""Files of chats in a backup: a folder beside the backup's file, named after it. It costs no space on the same disk: stored
content never changes, so its files are linked. Files in a bucket are not included."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.files.storage import storages

from sessions_app.chats.files.folder_storage import FolderStorage
from sessions_app.core.storage.durable_files import sync_to_disk
from sessions_app.models import StoredFile


def folder_of(backup: Path) -> Path:
    return backup.with_name(f"{backup.name}.files")


def folder_of_former(former: str) -> Path:
    """Of the store that a restore puts aside. Its name is a file's on SQLite, a database's on PostgreSQL."""
    return folder_of(Path(settings.DATA_DIR) / former)


def save(backup: Path) -> None:
    """Add the present files to a backup. Called before the store is dumped, and after it: so no file that the dump names is
    missing, whether it was stored or collected meanwhile."""
    if (source := _folder()) is not None and source.is_dir():
        _add(source, folder_of(backup))


def keep(former: str) -> None:
    """The present files stay for the store that is put aside: the restored one deletes from its folder what it does not name."""
    if (source := _folder()) is not None and source.is_dir():
        _add(source, folder_of_former(former))


def restore(backup: Path) -> int:
    """Put back what the store names and its folder lacks, or has with another size. Returns how many are not in the backup
    either. What no row names is collected later."""
    source, target = folder_of(backup), _folder()
    if target is None:
        return 0
    named = StoredFile.objects.values_list("key", "size_bytes").iterator()
    return sum(not _put_back(source / key, target / key, size, top=target) for key, size in named)


def _put_back(path: Path, place: Path, size: int, *, top: Path) -> bool:
    if not _is_whole(place, size):
        if not _is_whole(path, size):
            return False
        _link(path, place, top=top)
    return True


def _is_whole(file: Path, size: int) -> bool:
    return file.is_file() and file.stat().st_size == size


def discard(backup: Path) -> None:
    shutil.rmtree(folder_of(backup), ignore_errors=True)


def discard_former(former: str) -> None:
    shutil.rmtree(folder_of_former(former), ignore_errors=True)


def _folder() -> Path | None:
    storage = storages["files"]
    return Path(storage.location) if isinstance(storage, FolderStorage) else None


def _add(source: Path, target: Path) -> None:
    for path in _files(source):
        place = target / path.relative_to(source)
        if not place.exists():
            _link(path, place, top=target)


def _link(path: Path, place: Path, *, top: Path) -> None:
    for folder in (top, *reversed([one for one in place.parents if top in one.parents])):
        folder.mkdir(mode=0o700, exist_ok=True)
    part = place.with_name(f"{place.name}.part")
    part.unlink(missing_ok=True)
    try:
        part.hardlink_to(path)
    except FileNotFoundError:
        return  # It was collected at this moment.
    except OSError:  # Another disk, or one without links.
        shutil.copy2(path, part)
        sync_to_disk(part)
    part.replace(place)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".part")
