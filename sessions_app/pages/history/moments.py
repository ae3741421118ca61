"""Which moment of a session a revision is, as far as the store can tell.

No revision is stored as such. A message has the rev and time of its last change only, so revs whose changes were overwritten
later have left nothing of their own: such neighbours are one moment, that of the last of them. Positions and times grow with
revs, so every search is by index and costs the same in a long session as in a short one.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, NamedTuple

from sessions_app.core.storage.sql import db_time, db_uuid, fetch_rows, table_of
from sessions_app.models import Message

# Rows beside a rev that are looked at. Several, because a change of branches raises revs without a new time.
BESIDE = 50
TICK = timedelta(milliseconds=1)
HIGHEST = 2**40
# A binary search, for several times at once, for the highest number whose row is not newer. {row}: a row's time, by number.
_SEARCH = """
WITH RECURSIVE search (n, at, low, high) AS (
SELECT given.c0, given.c1, CAST(0 AS bigint), CAST(%s AS bigint) FROM {given} UNION ALL
SELECT n, at, CASE WHEN COALESCE({row} <= at, TRUE) THEN (low + high + 1) / 2 ELSE low END,
CASE WHEN COALESCE({row} <= at, TRUE) THEN high ELSE (low + high + 1) / 2 - 1 END FROM search WHERE low < high)
SELECT n, low FROM search WHERE low = high ORDER BY n
"""
_BY_REV = (
    "(SELECT m.updated_at FROM sessions_app_message m WHERE m.session_id = %s AND m.rev <= (low + high + 1) / 2 "
    "ORDER BY m.rev DESC LIMIT 1)"
)
_BY_POSITION = (
    "(SELECT m.created_at FROM sessions_app_message m WHERE m.session_id = %s AND m.epoch = %s AND {} "
    "AND m.position <= (low + high + 1) / 2 ORDER BY m.position DESC LIMIT 1)"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """`first` to `last`: the revs that cannot be told apart, `rev` among them. `until`: the time of the last one; None: now.

    `fresh`: the lowest position that was given away later, as far as it is known. `since`: all changes of these revs were at
    this time or later. What happened in the millisecond `tie`, of a message of `epoch`, may be on either side; `undone`: an
    undo is on the near one.
    """

    rev: int
    first: int
    last: int
    until: datetime | None
    fresh: int = HIGHEST
    since: datetime | None = None
    tie: datetime | None = None
    epoch: int = 0
    undone: bool = False

    @property
    def exact(self) -> bool:
        return self.first == self.last

    @property
    def shown(self) -> int:
        """The rev that messages are shown of: the last one, where its time is known."""
        return self.rev if self.until is None else self.last

    def had(self, at: datetime) -> bool:
        """Whether something of this time was there already."""
        return self.until is None or at <= self.until

    def had_cleared(self, at: datetime, epoch: int) -> bool:
        """Whether a clear of this stored epoch was already done."""
        return epoch < self.epoch if at == self.tie else self.had(at)

    def had_undone(self, at: datetime) -> bool:
        return self.undone if at == self.tie else self.had(at)


def find_moment(*, session_id: uuid.UUID, rev: int, newest: int, begun: datetime, known: Sequence[datetime]) -> Moment:
    """The moment of a rev, in two statements. `newest`: the session's rev. `begun`: when the session was created.

    `known`: the times of changes that took a rev of their own without a message, in order.
    """
    rows = Message.objects.filter(session_id=session_id)
    before = [_Row(*row) for row in rows.filter(rev__lte=rev).order_by("-rev").values_list(*_Row._fields)[:BESIDE]]
    after = [_Row(*row) for row in rows.filter(rev__gt=rev).order_by("rev").values_list(*_Row._fields)[:BESIDE]]
    if rev == 0:
        return Moment(0, 0, 0, begun - TICK, 0)
    if rev == newest:
        return Moment(rev, rev, rev, None)
    # The time of a removed message may be that of a late text, which did not count as a change.
    since = max([begun, *(row.updated_at for row in before if not row.removed)])
    following, starts = _following(after, since)
    limit = None if starts is None else max(since, starts - TICK)
    if before and before[0].rev == rev:
        at = max(since, _time_of([row for row in before if row.rev == rev], after) or since, *(row.updated_at for row in before))
        until = at if limit is None else max(since, min(limit, at))
        return Moment(rev, rev, rev, until, _fresh(after, until), since, until, before[0].epoch, before[0].writer_id is None)
    first = before[0].rev + 1 if before else 1
    last = newest if following is None else following.rev - 1
    floor = max([since, *(row.updated_at for row in before)])
    alone = {*known, *(row.created_at for row in after if row.aside is not None and row.ver == 1)}
    among = sorted(at for at in alone if at > floor and (limit is None or at <= limit))
    if len(among) == last - first + 1:
        return Moment(rev, rev, rev, among[rev - first], _fresh(after, among[rev - first]), since)
    if following is None or limit is None:
        return Moment(rev, first, newest, None, since=since)
    # Messages that an undo wrote have no writer, and its time.
    undone = following.writer_id is not None
    return Moment(rev, first, last, limit, _fresh(after, limit), since, starts, following.epoch, undone)


class _Row(NamedTuple):
    rev: int
    updated_at: datetime
    created_at: datetime
    position: int
    ver: int
    writer_id: str | None
    under: str | None
    epoch: int
    aside: bool | None
    removed: str


def _following(after: list[_Row], since: datetime) -> tuple[_Row, datetime] | tuple[None, None]:
    """The next rev whose time is known, by its newest row, and that time."""
    for _, rows in groupby(after, key=lambda row: row.rev):
        together = list(rows)
        at = _time_of(together, after)
        if at is not None and at >= since:
            return max(together, key=lambda row: row.updated_at), at
    return None, None


def _time_of(rows: list[_Row], after: list[_Row]) -> datetime | None:
    """The time of a rev, by the rows that have it. A change of branches gives its rev to messages, but no time. Mostly it is that
    of the first message which was written after those that left the path, as another answer or question in their place."""
    newest = max(rows, key=lambda row: row.updated_at)
    if newest.aside is None:
        return newest.updated_at
    return min((row.created_at for row in after if row.created_at > newest.updated_at), default=None)


def _fresh(after: list[_Row], until: datetime) -> int:
    """A row that was written once, by a save, got its position with its rev; one that is newer got it after the moment."""
    found = (row.position for row in after if row.created_at > until or (row.ver == 1 and row.writer_id and row.under is None))
    return min(found, default=HIGHEST)


def revs_at(*, session_id: uuid.UUID, newest: int, times: Sequence[datetime]) -> list[int]:
    """Of each time, the last rev that was not later, in one statement."""
    if not times:
        return []
    return _search(_BY_REV, [db_uuid(session_id)], newest, times)


def position_at(*, session_id: uuid.UUID, epoch: int, kind: str, until: datetime) -> int:
    """The highest position that was given away at this time; `kind`: a condition that an index has."""
    return _search(_BY_POSITION.format(kind), [db_uuid(session_id), epoch], HIGHEST, [until])[0]


def _search(row: str, key: list[Any], most: int, times: Sequence[datetime]) -> list[int]:
    given, parameters = table_of(("bigint", "timestamptz"), [(number, db_time(at)) for number, at in enumerate(times)])
    found = fetch_rows(_SEARCH.format(given=given, row=row), [most, *parameters, *key, *key])
    return [low for _, low in found]
