"""Files that survive a power failure."""

import os
from pathlib import Path


def sync_to_disk(path: Path) -> None:
    """Returns when a file's content, or a folder's list of names, is on disk. Raises `OSError`."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
