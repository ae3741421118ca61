"""How many messages were written by day, and by weekday and hour, in each project of a user.

No index orders messages by time: every save would have to write it. So messages are counted by number, the newest first, a piece
at a time and within a time limit. The counts are kept for an hour, and the next reader counts on where this one ended.
"""

import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.core.cache import caches

from sessions_app.core.storage.sql import db_time, fetch_row, fetch_rows, on_postgresql
from sessions_app.models.times import now

PIECE = 10_000
SECONDS = 0.04
KEPT_SECONDS = 3_600
WEEKS = 53
_HOUR = {
    True: "to_char(m.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24')",
    False: "substr(m.created_at, 1, 13)",
}
# The sessions are looked up once for many messages. SQLite keeps the order of a CROSS JOIN; else it would begin each piece with
# all sessions of the user.
_COUNTS = """
SELECT s.project_id, c.hour, SUM(c.number) FROM (
  SELECT m.session_id, {hour} AS hour, COUNT(*) AS number FROM sessions_app_message m
  WHERE m.id > %s AND m.id <= %s AND m.removed = '' AND m.created_at >= %s GROUP BY m.session_id, {hour}) c
CROSS JOIN sessions_app_chatsession s CROSS JOIN sessions_app_project p
WHERE s.id = c.session_id AND s.deleted_at IS NULL AND p.id = s.project_id AND p.deleted_at IS NULL AND p.owner_id = %s
GROUP BY s.project_id, c.hour
"""


@dataclass(slots=True)
class Activity:
    """`days`: messages by project (hexadecimal) and day; `hours`: by project, weekday (0 is Monday) and hour in UTC.

    Counted are the messages with the numbers above `low` up to `high`.
    """

    days: Counter[tuple[str, str]] = field(default_factory=Counter)
    hours: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    low: int = 0
    high: int = 0
    # When the counting began, in seconds since 1970.
    began: float = field(default_factory=time.time)

    @property
    def complete(self) -> bool:
        return self.low == 0

    def add(self, rows: list[Any]) -> None:
        for project, hour, number in rows:
            name, day = str(project).replace("-", ""), date.fromisoformat(hour[:10])
            self.days[name, hour[:10]] += int(number)
            self.hours[name, day.weekday(), int(hour[11:])] += int(number)


def first_day(today: date) -> date:
    """The Monday with which the weeks that are counted begin."""
    return today - timedelta(weeks=WEEKS - 1, days=today.weekday())


def count_activity(*, user_id: int) -> Activity:
    """Of the last 53 weeks, in all projects of a user. Not `complete`: the time limit was reached; the next call counts on."""
    key = f"activity:{user_id}"
    newest = (fetch_row("SELECT MAX(id) FROM sessions_app_message") or [0])[0] or 0
    found: Activity | None = caches["process"].get(key)
    # The newest messages were erased, or an import brought so many that counting them at once would take long.
    if found is None or not found.high <= newest <= found.high + PIECE:
        found = Activity(low=newest, high=newest)
    if _count_on(found, user_id, newest):
        caches["process"].set(key, found, max(1.0, found.began + KEPT_SECONDS - time.time()))
    return found


def _count_on(found: Activity, user_id: int, newest: int) -> bool:
    """Whether anything was counted: new messages, then older ones as long as the time lasts."""
    began = datetime.combine(first_day(now().date()), datetime.min.time(), now().tzinfo)
    until, before = time.monotonic() + SECONDS, (found.low, found.high)
    if newest > found.high:
        found.add(_counted(user_id, found.high, newest, began))
        found.high = newest
    while found.low > 0 and time.monotonic() < until:
        low = max(0, found.low - PIECE)
        found.add(_counted(user_id, low, found.low, began))
        found.low = low
    return before != (found.low, found.high)


def _counted(user_id: int, low: int, high: int, began: datetime) -> list[Any]:
    sql = _COUNTS.format(hour=_HOUR[on_postgresql()])
    return fetch_rows(sql, [low, high, db_time(began), user_id])
