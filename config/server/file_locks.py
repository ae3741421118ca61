"""Locks between processes of one machine or one shared folder. The kernel ends them with the process, however it ends."""

import fcntl
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.core.exceptions import ImproperlyConfigured

_AGAIN_SECONDS = 0.1


@contextmanager
def locked(file: Path, *, shared: bool = False, patience_seconds: float = 0, notice: str = "") -> Iterator[int]:
    """Raises BlockingIOError if another process has it for longer than this. The file stays: only its lock means anything.
    Yields its descriptor: a child that is given it keeps the lock until it ends too.

    `notice`: a line for standard error if it has to wait.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    deadline = time.monotonic() + patience_seconds
    with _opened(file) as handle:
        while True:
            try:
                fcntl.flock(handle, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
                if notice:
                    sys.stderr.write(f"{notice}\n")
                    notice = ""
                time.sleep(_AGAIN_SECONDS)
        yield handle.fileno()


def _opened(file: Path) -> IO[str]:
    try:
        return file.open("a")
    except OSError as error:
        raise ImproperlyConfigured(f"{file} cannot be written: {error.strerror}.") from None


def store_lock(database: str) -> Path:
    """Who has it is the one server of an embedded store, or a restore. Beside the file itself, whatever name leads to it."""
    file = Path(database).resolve()
    return file.with_name(f"{file.name}.lock")
