"""Reading a session that has branches: the path to any of its messages, and what stands beside a message.

A walk goes from message to message by index, and only as far as the page: it costs the same in a long session as in a short one.
"""

import uuid
from dataclasses import replace
from itertools import batched
from typing import Any, NamedTuple

from sessions_app.chats.reading.messages import ASIDE, ON_PATH, Page, messages_named, page_before
from sessions_app.core.storage.sql import db_uuid, fetch_row, fetch_rows
from sessions_app.models.live import Live

AT_ONCE = 500
MOST_COUNTED = 10_000
_OWN = "session_id = %s AND epoch = %s"
# From a message that is off the path to the first one that is on it.
_WALK = (
    "WITH RECURSIVE walk (message_id, position, under, aside) AS ("  # noqa: S608
    f"SELECT message_id, position, under, aside FROM sessions_app_message WHERE {_OWN} AND message_id = %s UNION ALL "
    "SELECT m.message_id, m.position, m.under, m.aside FROM walk JOIN sessions_app_message m ON m.session_id = %s "
    "AND m.epoch = %s AND m.message_id = walk.under AND m.position < walk.position "
    "WHERE walk.aside IS NOT NULL) SELECT message_id, position, aside FROM walk LIMIT %s"
)
# Two statements and not a join, of which SQLite would read the whole session.
_LINKS = f"SELECT message_id, under FROM sessions_app_message WHERE {_OWN} AND message_id IN ({{}})"  # noqa: S608
_CHILDREN = (
    f"SELECT under, position, message_id FROM sessions_app_message WHERE {_OWN} AND under IN ({{}}) "  # noqa: S608
    "AND under IS NOT NULL AND removed = ''"
)
_ASIDE = f"SELECT COUNT(*) FROM (SELECT 1 FROM sessions_app_message WHERE {_OWN} AND {ASIDE} LIMIT {MOST_COUNTED}) AS found"  # noqa: S608


class Place(NamedTuple):
    """Where a live message is, and what it follows: '' = nothing; None: the message before it."""

    position: int
    under: str | None
    aside: bool


def find_place(*, session_id: uuid.UUID, live: Live, message_id: str) -> Place | None:
    sql = f"SELECT position, under, aside FROM sessions_app_message WHERE {_OWN} AND removed = '' AND message_id = %s"  # noqa: S608
    row = fetch_row(sql, [db_uuid(session_id), live.epoch, message_id])
    return None if row is None else Place(row[0], row[1], bool(row[2]))


def count_aside(*, session_id: uuid.UUID, live: Live) -> int:
    """How many live messages are off the path that is shown: other versions and what follows them. At most `MOST_COUNTED`."""
    row = fetch_row(_ASIDE, [db_uuid(session_id), live.epoch])
    return 0 if row is None else row[0]


def path_to(
    *, session_id: uuid.UUID, live: Live, head: str, before: Place | None, limit: int, within_bytes: bool = False
) -> Page:
    """The last `limit` messages of the path to a message, or those before one of it.

    `within_bytes`: fewer, so that those off the shown path are no larger than a window, and neither are the others.
    """
    start = head if before is None else before.under
    if start is None and before is not None:
        return page_before(session_id=session_id, live=live, position=before.position, limit=limit, within_bytes=within_bytes)
    walked = [] if not start else _walk(session_id, live, start, limit + 1)
    off_path = [message_id for message_id, _, aside in walked if aside]
    page = messages_named(session_id=session_id, live=live, ids=off_path[:limit], within_bytes=within_bytes)
    if page.more or len(off_path) > limit or not walked or walked[-1][2]:
        return replace(page, more=page.more or len(off_path) > limit)
    room, position = limit - len(off_path), walked[-1][1] + 1
    if not room:
        return replace(page, more=True)
    rest = page_before(session_id=session_id, live=live, position=position, limit=room, within_bytes=within_bytes)
    return Page(rest.items + page.items, rest.skipped + page.skipped, rest.more)


def with_siblings(page: Page, *, session_id: uuid.UUID, live: Live) -> Page:
    """Add `siblings` to the messages that have some."""
    links = dict(_rows_of(_LINKS, session_id, live, [item["id"] for item in page.items]))
    groups = dict[str, list[str]]()
    parents = list(dict.fromkeys(under for under in links.values() if under is not None))
    for under, _, message_id in sorted(_rows_of(_CHILDREN, session_id, live, parents), key=lambda row: row[1]):
        groups.setdefault(under, []).append(message_id)
    for item in page.items:
        under = links.get(item["id"])
        group = [] if under is None else groups.get(under, [])
        # A message that was removed meanwhile, or later in the same save, is in none.
        if len(group) > 1 and item["id"] in group:
            item["siblings"] = _siblings(group, item["id"])
    return page


def with_links(page: Page, *, session_id: uuid.UUID, live: Live) -> Page:
    """Add `follows` to each message: the live message that it follows, or None."""
    links = dict(_rows_of(_LINKS, session_id, live, [item["id"] for item in page.items]))
    before: str | None = None
    for number, item in enumerate(page.items):
        under = links.get(item["id"])
        if under is None and number == 0:
            before = _before(session_id, live, item["position"])
        item["follows"] = before if under is None else under or None
        before = item["id"]
    return page


def _rows_of(sql: str, session_id: uuid.UUID, live: Live, ids: list[str]) -> list[Any]:
    key, found = [db_uuid(session_id), live.epoch], list[Any]()
    for some in batched(ids, AT_ONCE):
        found += fetch_rows(sql.format(", ".join(["%s"] * len(some))), [*key, *some])
    return found


def _walk(session_id: uuid.UUID, live: Live, start: str, limit: int) -> list[Any]:
    key = [db_uuid(session_id), live.epoch]
    return sorted(fetch_rows(_WALK, [*key, start, *key, limit]), key=lambda row: -row[1])


def _siblings(group: list[str], message_id: str) -> dict[str, Any]:
    at = group.index(message_id)
    following = group[at + 1] if at + 1 < len(group) else None
    return {"index": at + 1, "count": len(group), "previous": group[at - 1] if at else None, "next": following}


def _before(session_id: uuid.UUID, live: Live, position: int) -> str | None:
    sql = (
        f"SELECT message_id FROM sessions_app_message WHERE {_OWN} AND {ON_PATH} AND position < %s ORDER BY position DESC LIMIT 1"  # noqa: S608
    )
    row = fetch_row(sql, [db_uuid(session_id), live.epoch, position])
    return None if row is None else row[0]
