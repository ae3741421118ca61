"""The SQLite that the project brings along, in place of the system's.

Versions up to 3.51.2 can damage a write-ahead log under several connections, and most distributions ship one of
them. The `pysqlite3` wheel carries a mended one; importing this module before Django's backend makes it the one in
use. Where the wheel is missing (no build for the platform) the system's library serves, and a check says so.
"""

import sqlite3 as system_sqlite3
import sys
from typing import Any

FIRST_SOUND_VERSION = (3, 51, 3)
# Django asks a connection for its limits (Python 3.11's API, which the wheel does not have); these are SQLite's defaults.
LIMITS = {
    "SQLITE_LIMIT_COLUMN": (2, 2_000),
    "SQLITE_LIMIT_COMPOUND_SELECT": (4, 500),
    "SQLITE_LIMIT_VARIABLE_NUMBER": (9, 32_766),
}

# Each thread has a connection with its own cache of pages, of so many KB; the system caches the file for all of them.
CACHED_KB = 1_000
PRAGMAS = (
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA secure_delete=ON;"
    "PRAGMA journal_size_limit=67108864;"
    f"PRAGMA cache_size=-{CACHED_KB}"
)


def install() -> type | None:
    """Put the wheel in `sqlite3`'s place; answers the connection class that Django is to use, or None without the wheel."""
    try:
        from pysqlite3 import dbapi2
    except ImportError:
        return None

    for name, (category, _) in LIMITS.items():
        setattr(dbapi2, name, category)
    by_category = dict(LIMITS.values())

    class Connection(dbapi2.Connection):  # type: ignore[misc]
        def getlimit(self, category: int, /) -> int:
            return by_category[category]

    import pysqlite3

    for name in LIMITS:
        setattr(pysqlite3, name, getattr(dbapi2, name))
    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = dbapi2
    return Connection


def options(connection_class: type | None) -> dict[str, Any]:
    """Django's OPTIONS: writers queue from their first statement on, and an answered commit is on the disk."""
    chosen: dict[str, Any] = {"timeout": 20, "transaction_mode": "IMMEDIATE", "init_command": PRAGMAS}
    if connection_class is not None:
        chosen["factory"] = connection_class
    return chosen


def version() -> tuple[int, ...]:
    module = sys.modules.get("sqlite3", system_sqlite3)
    return tuple(int(part) for part in module.sqlite_version.split("."))
