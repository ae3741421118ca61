"""What changed in a session since a rev, page by page."""

import uuid
from typing import Any, NamedTuple

from django.conf import settings

from sessions_app.chats.reading.messages import ASIDE, ON_PATH, UNLIMITED, Page, messages_where
from sessions_app.core.storage.sql import db_uuid, fetch_rows
from sessions_app.models.live import Live

_OF_SESSION = "FROM sessions_app_message WHERE session_id = %s AND epoch = %s AND"
_CHANGE = f"SELECT rev, position, size_bytes {_OF_SESSION}"


class _Range(NamedTuple):
    """A condition that an index answers, in its order."""

    where: str
    parameters: list[Any]
    order: str


def changed_since(
    *, session_id: uuid.UUID, live: Live, rev: int, limit: int, branches: bool = False
) -> tuple[Page, list[str], int | None]:
    """Changes after `rev`: live messages, removed ids, and the rev to continue from if there is more.

    What left the path counts as removed, and what came back to it as changed; with `branches`, all that is live counts as there.

    A page never ends inside one rev, so that continuing from its last rev misses nothing. It has `limit` changes, or fewer that
    are no larger than a window, and may exceed both by one rev: one save, or `POSITIONS_A_REV` positions of an undo.
    """
    places = (ON_PATH, ASIDE) if branches else (ON_PATH,)
    last = _last_rev_of_page(session_id, live, rev, limit, places)
    upto = UNLIMITED if last is None else last
    conditions = [(f"{place} AND {found.where}", found.parameters) for found in _ranges(live, rev, upto) for place in places]
    page = messages_where(conditions, session_id=session_id, live=live, more=last is not None)
    gone_from = "removed <> ''" if branches else f"(removed <> '' OR {ASIDE})"
    gone = f"SELECT message_id {_OF_SESSION} {gone_from} AND rev > %s AND rev <= %s ORDER BY position, message_id"
    removed = [message_id for (message_id,) in fetch_rows(gone, [db_uuid(session_id), live.epoch, rev, upto])]
    return page, removed, last


def _ranges(live: Live, rev: int, upto: int) -> list[_Range]:
    """Where the messages are that count as written after `rev` and not after `upto`, in the order of their revs."""
    if rev >= live.revived_rev:
        return [_Range("rev > %s AND rev <= %s", [rev, upto], "rev")]
    first, to = live.positions_between(rev, upto)
    restored = _Range("position >= %s AND position <= %s AND rev < %s", [first, to, live.revived_rev], "position")
    later = _Range("rev >= %s AND rev <= %s", [live.revived_rev, upto], "rev")
    # Few, but among the stored revs of all that was restored: `+` keeps the index of revs out of it.
    earlier_upto = min(upto, live.rev_before)
    earlier = _Range("position > %s AND +rev > %s AND +rev <= %s", [live.revived_to, rev, earlier_upto], "+rev")
    return [earlier, restored, later]


def _last_rev_of_page(session_id: uuid.UUID, live: Live, rev: int, limit: int, places: tuple[str, ...]) -> int | None:
    """The last rev of the page that begins after `rev`; None if that is the last page. (If the last changes share one rev, this
    page may be followed by an empty one.)"""
    changes, cut = list[tuple[int, int]](), False
    for found in _ranges(live, rev, UNLIMITED):
        # Removed messages count too, except among the restored ones: they were not restored.
        for place in places if found.order != "rev" else ("TRUE",):
            sql = f"{_CHANGE} {place} AND {found.where} ORDER BY {found.order} LIMIT %s"
            rows = fetch_rows(sql, [db_uuid(session_id), live.epoch, *found.parameters, limit + 1])
            cut = cut or len(rows) > limit
            changes += [(live.rev_of(at, position), size) for at, position, size in rows]
    changes.sort()
    room, last = settings.WINDOW_BYTES, None
    for number, (at, size) in enumerate(changes):
        if last is not None and at > last:
            return last
        room -= size
        if number + 1 >= limit or room <= 0:
            last = at
    return last if cut else None
