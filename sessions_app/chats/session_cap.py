"""The hard cap of a session (`STILLHERE_SESSION_CAP`): above it the oldest live messages are dropped, and only then.

A dropped message is tombstoned like a deleted one: a late save does not restore it, a person can within 30 days. The session's
counters show whether there is anything to do, so a session below the cap costs no statement.
"""

from typing import Any

from django.conf import settings

from sessions_app.chats.branches.tree import Tree
from sessions_app.chats.locking import LockedSession
from sessions_app.chats.reading.messages import ASIDE, ON_PATH
from sessions_app.core.errors import Conflict
from sessions_app.core.storage.sql import db_time, db_uuid, execute, fetch_rows
from sessions_app.models.message import Removal
from sessions_app.models.times import now

# After the cap is lowered, each save drops only a few, so that no single save pays for a long session.
MOST_AT_ONCE = 500
_OLDEST = (
    "SELECT id, message_id, size_bytes, position, under FROM sessions_app_message "
    "WHERE session_id = %s AND epoch = %s AND {} ORDER BY position LIMIT %s"
)


class SessionFull(Conflict):
    code = "session_full"
    message = "The session has as many messages as this server allows. Delete one first, or start a new session."


def drop_oldest(session: LockedSession) -> list[str]:
    """Drop the messages above the cap, as of `session.rev`; returns their ids. Changes the counters, but does not store them."""
    above = session.message_count - settings.SESSION_CAP
    if not settings.SESSION_CAP or above <= 0:
        return []
    oldest = _oldest(session, min(above, MOST_AT_ONCE))
    keys = [pk for pk, *_ in oldest]
    # The last writer stays: a late save of that writer can still be distinguished from another writer's.
    update = "UPDATE sessions_app_message SET removed = %s, rev = %s, ver = ver + 1, updated_at = %s WHERE id IN "
    marks = ", ".join(["%s"] * len(keys))
    execute(f"{update}({marks})", [Removal.DROPPED.value, session.rev, db_time(now()), *keys])
    session.message_count -= len(oldest)
    session.size_bytes -= sum(size for _, _, size, _, _ in oldest)
    if session.head is not None:
        Tree(session).remove([(message_id, under, position) for _, message_id, _, position, under in oldest])
    return [message_id for _, message_id, *_ in oldest]


def _oldest(session: LockedSession, count: int) -> list[Any]:
    """The first live messages, of all branches."""
    places = (ON_PATH,) if session.head is None else (ON_PATH, ASIDE)  # Each has an index.
    key = [db_uuid(session.id), session.live.epoch, count]
    found = [tuple(row) for place in places for row in fetch_rows(_OLDEST.format(place), key)]
    return sorted(found, key=lambda row: row[3])[:count]


def refuse_where_full(session: LockedSession) -> None:
    """For restoring a single message: as one of the oldest it would be dropped next."""
    if settings.SESSION_CAP and session.message_count >= settings.SESSION_CAP:
        raise SessionFull(details={"cap": settings.SESSION_CAP})
