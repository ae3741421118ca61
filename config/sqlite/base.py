"""Django's SQLite backend (which it looks for under this name), quicker at statements that it has seen before."""

from collections.abc import Iterable
from functools import lru_cache

from django.db.backends.sqlite3 import base

# Statements are written once and run many times; an `IN` over a list makes one for each length.
REMEMBERED = 1_000
# In characters. What inserts hundreds of rows is long, and another one the next time.
LONGEST = 4_000


class Cursor(base.SQLiteCursorWrapper):
    def convert_query(self, query: str, *, param_names: Iterable[str] | None = None) -> str:
        if param_names is None and len(query) <= LONGEST:
            return _with_question_marks(query)
        return super().convert_query(query, param_names=param_names)


class DatabaseWrapper(base.DatabaseWrapper):
    def create_cursor(self, name: str | None = None) -> Cursor:
        cursor: Cursor = self.connection.cursor(factory=Cursor)
        return cursor


@lru_cache(REMEMBERED)
def _with_question_marks(query: str) -> str:
    """Django's `%s` as SQLite wants it. Looking for them takes longer than most statements do."""
    return base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%")
