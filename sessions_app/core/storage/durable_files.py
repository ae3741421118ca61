"""Files that survive a power failure."""

import errno
import os
from pathlib import Path

# What a disk without space for more answers.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def sync_to_disk(path: Path) -> None:
    """Returns when a file's content, or a folder's list of names, is on disk. Raises `OSError`."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
