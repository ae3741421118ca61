"""Updates the text index: shortly after a save, in small steps, and immediately before a search.

On SQLite every save queues its texts. On PostgreSQL saves update the index; only forked messages wait (`Message.words_due`).
What is no message has indexes of its own (`word_index.py`), which a search does not wait for.
"""

from sessions_app.core.extension import extensions
from sessions_app.core.storage.paced_writes import Pace
from sessions_app.core.storage.sql import execute, fetch_row, fetch_rows, on_postgresql
from sessions_app.core.storage.transactions import write

# Small steps, so that a waiting save waits milliseconds: at most this many texts, of which all but the first are short.
AT_ONCE, BYTES_AT_ONCE = 16, 64_000
_NEXT = "SELECT message_pk FROM sessions_app_textqueue ORDER BY message_pk LIMIT %s"
_SIZES = (
    "SELECT COALESCE((SELECT size_bytes FROM sessions_app_message WHERE id = message_pk), 0) "
    "FROM sessions_app_textqueue ORDER BY message_pk LIMIT %s"
)
# One statement for all: FTS5 flushes between statements, which costs as much as indexing.
_INDEX = (
    f"DELETE FROM sessions_app_textindex WHERE rowid IN ({_NEXT})",  # noqa: S608 - our own SQL
    f"INSERT INTO sessions_app_textindex (rowid, text) SELECT id, text FROM sessions_app_message WHERE id IN ({_NEXT})",  # noqa: S608
    f"DELETE FROM sessions_app_textqueue WHERE message_pk IN ({_NEXT})",  # noqa: S608
)
# Not messages of an unpublished fork: it may be abandoned. Rows locked by a save are left for the next step.
_DUE = """
SELECT m.id FROM sessions_app_message m JOIN sessions_app_chatsession s ON s.id = m.session_id
JOIN sessions_app_project p ON p.id = s.project_id
WHERE m.words_due AND p.owner_id IS NOT NULL ORDER BY m.id DESC LIMIT %s
"""
_INDEX_DUE = f"""
WITH due AS ({_DUE} FOR UPDATE OF m SKIP LOCKED), done AS (
UPDATE sessions_app_message SET words_due = NULL WHERE id IN (SELECT id FROM due) RETURNING 1)
SELECT count(*) FROM done
"""  # noqa: S608 - our own SQL
_pace = Pace(20)


def index_waiting() -> int:
    """Index a few of the waiting texts; returns how many. 0: the index is up to date."""
    if on_postgresql():
        return write(_index_due) if fetch_row(_DUE, [1]) else 0
    return write(_index_some) if fetch_row(_NEXT, [1]) else 0


def index_in_passing() -> bool:
    """One step; returns whether another full one waits. Under load, a step for every text would cost more than the saves."""
    if (indexed := index_waiting()) == 0 or on_postgresql():
        return bool(indexed)
    waiting = fetch_rows(_SIZES, [AT_ONCE])
    return len(waiting) == AT_ONCE or sum(size for (size,) in waiting) >= BYTES_AT_ONCE


def index_rows_in_passing() -> bool:
    """One step of the first index of rows that are no messages that has more to do; returns whether there is one."""
    return any(index.index_some() for extension in extensions() for index in extension.word_indexes)


def _index_due() -> int:
    _pace.begin()
    [done] = fetch_row(_INDEX_DUE, [_pace.rows])
    _pace.end()
    return int(done)


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
