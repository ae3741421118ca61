"""The hard cap of a session (`STILLHERE_SESSION_CAP`): above it the oldest live messages are dropped, and only then.

Dropped is taken out like deleted: a late save does not bring it back, and for 30 days a person can. The session's counters tell
whether there is anything to do, so a session below the cap costs no statement.
"""

from django.conf import settings

from sessions_app.errors import Conflict
from sessions_app.models.message import Removal
from sessions_app.models.sql import db_time, db_uuid, execute, fetch_rows, now
from sessions_app.services.locking import LockedSession

# A cap that was lowered is reached save by save, so that no single one pays for a long session.
MOST_AT_ONCE = 500
_OLDEST = (
    "SELECT id, message_id, size_bytes FROM sessions_app_message "
    "WHERE session_id = %s AND epoch = %s AND removed = '' ORDER BY position LIMIT %s"
)


class SessionFull(Conflict):
    code = "session_full"
    message = "The session holds as many messages as this server allows. Take one out first, or start a new session."


def drop_oldest(session: LockedSession) -> list[str]:
    """Take out what is above the cap, as of `session.rev`; answers their ids. Changes the counters, but does not store them."""
    above = session.message_count - settings.SESSION_CAP
    if not settings.SESSION_CAP or above <= 0:
        return []
    oldest = fetch_rows(_OLDEST, [db_uuid(session.id), session.epoch, min(above, MOST_AT_ONCE)])
    keys = [pk for pk, _, _ in oldest]
    # Who wrote it last stays: a late save of theirs is still told from another writer's.
    update = "UPDATE sessions_app_message SET removed = %s, rev = %s, ver = ver + 1, updated_at = %s WHERE id IN "
    marks = ", ".join(["%s"] * len(keys))
    execute(f"{update}({marks})", [Removal.DROPPED.value, session.rev, db_time(now()), *keys])
    session.message_count -= len(oldest)
    session.size_bytes -= sum(size for _, _, size in oldest)
    return [message_id for _, message_id, _ in oldest]


def refuse_where_full(session: LockedSession) -> None:
    """For bringing back a single message: as one of the oldest it would be the next to go."""
    if settings.SESSION_CAP and session.message_count >= settings.SESSION_CAP:
        raise SessionFull(details={"cap": settings.SESSION_CAP})
