"""Safe access to an untrusted folder: links are not followed, nothing outside is reached, writes are atomic.

Every step goes from an open folder to a name in it, so that the folder cannot be replaced meanwhile.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE_MODE, FOLDER_MODE = 0o644, 0o755
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking: opening a pipe would wait for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotPlain(OSError):
    """A link, a pipe, a device or too large a file, where a plain one is expected."""


class Folder:
    """An open folder. `name`: for messages."""

    def __init__(self, fd: int, name: str) -> None:
        self._fd, self.name = fd, name

    def subfolders(self) -> list[str]:
        with os.scandir(self._fd) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))

    def others(self) -> list[str]:
        """Names that are not folders: files, links and others."""
        with os.scandir(self._fd) as entries:
            return sorted(entry.name for entry in entries if not entry.is_dir(follow_symlinks=False))

    def read(self, name: str, *, most: int) -> bytes:
        """A plain file of at most `most` bytes. Raises OSError."""
        with os.fdopen(os.open(name, _FILE, dir_fd=self._fd), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise NotPlain("it is not a plain file")
            content = file.read(most + 1)
        if len(content) > most:
            raise NotPlain(f"it has more than {most} bytes")
        return content

    def write(self, name: str, content: bytes) -> None:
        """Atomic: renamed into place only when complete and on disk. A link of that name is replaced, not followed."""
        unfinished = f".{name[:200]}.{secrets.token_hex(4)}"
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self._fd)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), FILE_MODE)
                os.fsync(file.fileno())
            os.replace(unfinished, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            os.unlink(unfinished, dir_fd=self._fd)
            raise

    def remove(self, name: str) -> None:
        os.unlink(name, dir_fd=self._fd)

    def remove_subfolder(self, name: str) -> None:
        """Removes a subfolder if it is empty."""
        os.rmdir(name, dir_fd=self._fd)

    @contextmanager
    def subfolder(self, name: str, *, make: bool = False) -> Iterator["Folder"]:
        with _opened(name, make=make, dir_fd=self._fd) as fd:
            yield Folder(fd, f"{self.name}/{name}")

    def sync(self) -> None:
        os.fsync(self._fd)


@contextmanager
def open_folder(path: Path, *, make: bool = False) -> Iterator[Folder]:
    """The folder at `path`. Its parent folders are trusted, but it must be a folder itself, not a link."""
    with _opened(os.fspath(path), make=make) as fd:
        yield Folder(fd, path.name)


@contextmanager
def _opened(path: str, *, make: bool, dir_fd: int | None = None) -> Iterator[int]:
    made = False
    if make:
        try:
            os.mkdir(path, FOLDER_MODE, dir_fd=dir_fd)
            made = True
        except FileExistsError:
            pass
    fd = os.open(path, _FOLDER, dir_fd=dir_fd)
    try:
        if made:
            os.fchmod(fd, FOLDER_MODE)
        yield fd
    finally:
        os.close(fd)
