"""Django's SQLite backend (which it looks for under this name), quicker at statements that it has seen before."""

import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any

from django.db.backends.sqlite3 import base

from sessions_app.core.storage.direct_cursor import DirectCursor

# Statements are written once and run many times; an `IN` over a list makes one for each length.
REMEMBERED = 1_000
# In characters. What inserts hundreds of rows is long, and another one the next time.
LONGEST = 4_000
PRIVATE, OTHERS = 0o600, 0o077
_LISTS = (list, tuple)
_creating = threading.Lock()


class Cursor(base.SQLiteCursorWrapper):
    """With lists of parameters it skips what Django does for mappings and generators."""

    def execute(self, query: str, params: Any = None) -> Any:
        if type(params) not in _LISTS or len(query) > LONGEST:
            return super().execute(query, params)
        return super(base.SQLiteCursorWrapper, self).execute(_with_question_marks(query), params)

    def executemany(self, query: str, param_list: Any) -> Any:
        is_plain = type(param_list) is list and all(type(params) in _LISTS for params in param_list[:1])
        if not is_plain or len(query) > LONGEST:
            return super().executemany(query, param_list)
        return super(base.SQLiteCursorWrapper, self).executemany(_with_question_marks(query), param_list)

    def convert_query(self, query: str, *, param_names: Iterable[str] | None = None) -> str:
        if param_names is None and len(query) <= LONGEST:
            return _with_question_marks(query)
        return super().convert_query(query, param_names=param_names)


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        make_private(str(conn_params["database"]))
        return super().get_new_connection(conn_params)

    def create_cursor(self, name: str | None = None) -> Cursor:
        cursor: Cursor = self.connection.cursor(factory=Cursor)
        return cursor

    def make_cursor(self, cursor: Any) -> DirectCursor:
        return DirectCursor(cursor, self)


def make_private(name: str) -> None:
    """The database's file is its owner's alone, from its first byte on. What SQLite makes beside it gets the same mode.

    A file that exists is not opened: to close it would end the locks of all SQLite connections of this process. Another program
    that closes the file would then remove the write-ahead log, into which this process goes on to write.
    """
    if name.startswith("file:") or name == ":memory:":
        return
    with _creating, suppress(OSError):  # Whether it can be opened at all, SQLite says better.
        if not os.path.exists(name):
            os.close(os.open(name, os.O_RDWR | os.O_CREAT, PRIVATE))
    for beside in ("", "-wal", "-shm"):
        with suppress(OSError):
            if os.stat(name + beside).st_mode & OTHERS:
                os.chmod(name + beside, PRIVATE)


@lru_cache(REMEMBERED)
def _with_question_marks(query: str) -> str:
    """Django's `%s` as SQLite wants it. Looking for them takes longer than most statements do."""
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")
