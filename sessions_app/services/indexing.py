"""SQLite's index of texts follows the saves: a little later, in small steps, and at once when somebody searches."""

from django.db import connection

from sessions_app.services.writing import write

# So few that a save that waits for them waits milliseconds.
AT_ONCE = 16
_NEXT = "SELECT message_pk FROM sessions_app_textqueue LIMIT %s"


def index_waiting() -> int:
    """Index a few of the texts that changed; answers how many. 0: the index is up to date."""
    if connection.vendor != "sqlite":
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_NEXT, [1])
        if cursor.fetchone() is None:
            return 0
    return write(_index_some)


def _index_some() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_NEXT, [AT_ONCE])
        waiting = [(pk,) for (pk,) in cursor.fetchall()]
        cursor.executemany("DELETE FROM sessions_app_textindex WHERE rowid = %s", waiting)
        cursor.executemany(
            "INSERT INTO sessions_app_textindex (rowid, text) SELECT id, text FROM sessions_app_message WHERE id = %s", waiting
        )
        cursor.executemany("DELETE FROM sessions_app_textqueue WHERE message_pk = %s", waiting)
    return len(waiting)
