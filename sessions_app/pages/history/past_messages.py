"""The messages of a session at a past moment, newest first by page, as far as they are kept."""

import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sessions_app.chats.lifecycle.removed_queries import RESTORABLE_FOR
from sessions_app.chats.reading.messages import ASIDE, ON_PATH, fitting_window, messages_of_rows
from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.core.storage.sql import db_time, db_uuid, fetch_rows
from sessions_app.models import Clearing
from sessions_app.models.times import now
from sessions_app.pages.history.epochs import Past, Stored, past_of
from sessions_app.pages.history.moments import HIGHEST, Moment, find_moment, position_at

# As the index of removed messages has it.
REMOVED = "NOT (removed = '')"
# A message that was removed, or left the path, at the moment or before it was not shown then.
_KINDS = ((ON_PATH, ""), (ASIDE, "AND rev > %s"), (REMOVED, "AND rev > %s AND ver > 1"))
_KEYS = (
    "SELECT position, id, rev, removed, aside, epoch, size_bytes FROM sessions_app_message WHERE session_id = %s AND epoch = %s "
    "AND {} AND position <= %s {} AND (rev <= %s OR created_at <= %s) {} ORDER BY position DESC LIMIT %s"
)


@dataclass(frozen=True, slots=True)
class PastMessage:
    """`item`: the message as it is stored now, as `reading.messages` returns it. `changed_at`: the rev of a later change, which
    overwrote how it was at the moment; None: it was exactly so. `removed`: why it is no longer there."""

    item: dict[str, Any]
    changed_at: int | None
    removed: str
    aside: bool
    erased: bool
    # It is among the session's live messages.
    live: bool


@dataclass(frozen=True, slots=True)
class PastPage:
    """Oldest first. `erased`: clears whose messages belonged to the moment, and were erased since."""

    messages: list[PastMessage]
    more: bool
    erased: list[Clearing]

    @property
    def oldest(self) -> int:
        return int(self.messages[0].item["position"]) if self.messages else 0

    @property
    def newest(self) -> int:
        return int(self.messages[-1].item["position"]) if self.messages else 0

    def since(self, position: int) -> "PastPage":
        """Without the messages before a position."""
        kept = [message for message in self.messages if message.item["position"] >= position]
        return replace(self, messages=kept, more=self.more or len(kept) < len(self.messages))


def moment_of(session: SessionRow, rev: int, clearings: list[Clearing]) -> Moment:
    """`clearings`: the session's, of `list_clearings`."""
    times = sorted(at for row in clearings for at in (row.cleared_at, row.undone_at) if at is not None)
    begun = datetime.fromisoformat(session.created_at)
    return find_moment(session_id=session.id, rev=min(rev, session.rev), newest=session.rev, begun=begun, known=times)


def past_page(session: SessionRow, moment: Moment, clearings: list[Clearing], *, before: int = HIGHEST, limit: int) -> PastPage:
    """The last `limit` messages of the moment, or those before a position; fewer, if they are larger than a window."""
    past = _past_at(session, moment, clearings)
    keys = list[Any]()
    for stored in past.stored:
        keys += _keys(session.id, stored, moment, min(before - 1, moment.fresh - 1), limit + 1)
    keys.sort(reverse=True)
    kept = fitting_window(keys[:limit])
    items = messages_of_rows([row[1] for row in kept])
    shown = [_past(items[row[1]], row, moment, session) for row in reversed(kept) if row[1] in items]
    return PastPage(shown, len(keys) > len(kept), past.erased)


def end_of_page(session: SessionRow, moment: Moment, clearings: list[Clearing], *, after: int, limit: int) -> int:
    """The `before` of a page that leaves out no message from position `after` on, `limit` positions later or less."""
    most = min(after + limit, moment.fresh) - 1
    keys = list[Any]()
    for stored in _past_at(session, moment, clearings).stored:
        keys += [row for row in _keys(session.id, stored, moment, most, limit) if row[0] >= after]
    keys.sort()
    kept = fitting_window(keys[:limit])
    return int(kept[-1][0]) + 1 if len(kept) < len(keys) else after + limit


def _past_at(session: SessionRow, moment: Moment, clearings: list[Clearing]) -> Past:
    return past_of(clearings, session.live, moment) if moment.rev > 0 else Past()


def _keys(session_id: uuid.UUID, stored: Stored, moment: Moment, most: int, limit: int) -> list[Any]:
    """The newest rows that were live at the moment."""
    found, until = list[Any](), now() if moment.until is None else moment.until
    for kind, only_later in _KINDS:
        bound = most
        if moment.until is not None:
            bound = min(most, position_at(session_id=session_id, epoch=stored.epoch, kind=kind, until=moment.until))
        later = [moment.shown] if only_later else []
        times, values = _times(stored)
        parameters = [db_uuid(session_id), stored.epoch, bound, *later, moment.shown, db_time(until), *values, limit]
        found += [tuple(row) for row in fetch_rows(_KEYS.format(kind, only_later, times), parameters)]
    return sorted(found, reverse=True)[:limit]


def _times(stored: Stored) -> tuple[str, list[Any]]:
    if stored.times is None:
        return "", []
    conditions, values = list[str](), list[Any]()
    for between in stored.times:
        bounds = [(sign, at) for sign, at in ((">", between.after), ("<=", between.until)) if at is not None]
        conditions.append(" AND ".join(f"created_at {sign} %s" for sign, _ in bounds) or "TRUE")
        values += [db_time(at) for _, at in bounds]
    return f"AND ({' OR '.join(conditions)})", values


def _past(item: dict[str, Any], row: Any, moment: Moment, session: SessionRow) -> PastMessage:
    _, _, rev, removed, aside, epoch, _ = row
    old = bool(removed) and datetime.fromisoformat(item["updated_at"]) < now() - RESTORABLE_FOR
    erased = old and not item["text"] and not ({"metadata", "raw"} & item.keys())
    live = not removed and epoch == session.live.epoch
    return PastMessage(item, rev if rev > moment.shown else None, removed, bool(aside), erased, live)
