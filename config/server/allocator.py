"""How the C library gives memory back.

glibc keeps a pool of memory for every few threads, and asks the kernel again for each large block. A server whose threads take
turns at answers of some 200 KB then either holds the largest of each thread for ever, or pays for fresh pages with every one.
"""

import ctypes
from contextlib import suppress

# From malloc.h; the values of `mallopt`'s parameters are part of glibc's ABI.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
POOLS = 2
# Above what a live window usually takes: two blocks of 250 KB cost 14 µs out of a pool and 400 µs out of the kernel.
LARGE_BYTES = 1_048_576
KEPT_BYTES = 4_194_304


def limit_retained_memory() -> None:
    """Few pools, of which little stays when it is free. To be called before threads begin; does nothing on other C libraries."""
    with suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, POOLS)
        mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
