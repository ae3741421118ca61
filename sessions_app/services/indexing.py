"""SQLite's index of texts follows the saves: a little later, in small steps, and at once when somebody searches."""

from sessions_app.models.sql import execute, fetch_row, fetch_rows, on_postgresql
from sessions_app.services.writing import write

# So little that a save that waits for it waits milliseconds: at most so many texts, of which all but the first are short.
AT_ONCE, BYTES_AT_ONCE = 16, 64_000
_NEXT = "SELECT message_pk FROM sessions_app_textqueue ORDER BY message_pk LIMIT %s"
_SIZES = (
    "SELECT COALESCE((SELECT size_bytes FROM sessions_app_message WHERE id = message_pk), 0) "
    "FROM sessions_app_textqueue ORDER BY message_pk LIMIT %s"
)
# One statement for all: between two of them FTS5 writes what it has gathered, which costs as much as gathering it.
_INDEX = (
    f"DELETE FROM sessions_app_textindex WHERE rowid IN ({_NEXT})",  # noqa: S608 - our own SQL
    f"INSERT INTO sessions_app_textindex (rowid, text) SELECT id, text FROM sessions_app_message WHERE id IN ({_NEXT})",  # noqa: S608
    f"DELETE FROM sessions_app_textqueue WHERE message_pk IN ({_NEXT})",  # noqa: S608
)


def index_waiting() -> int:
    """Index a few of the texts that changed; answers how many. 0: the index is up to date."""
    if on_postgresql() or fetch_row(_NEXT, [1]) is None:
        return 0
    return write(_index_some)


def index_in_passing() -> bool:
    """One step; answers whether another whole one waits. Under saves a step for every text would cost more than the saves."""
    if index_waiting() == 0:
        return False
    waiting = fetch_rows(_SIZES, [AT_ONCE])
    return len(waiting) == AT_ONCE or sum(size for (size,) in waiting) >= BYTES_AT_ONCE


def _index_some() -> int:
    room, some = BYTES_AT_ONCE, 0
    for (size,) in fetch_rows(_SIZES, [AT_ONCE]):
        room -= size
        if room < 0 and some:
            break
        some += 1
    for statement in _INDEX:
        execute(statement, [some])
    return some
