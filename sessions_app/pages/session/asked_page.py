"""Which messages of a session its page shows, by the address: the newest ones, those around a message, or a path to one."""

from typing import Any, NamedTuple

from django.http import QueryDict

from sessions_app.chats.reading.branches import Place, find_place, path_to
from sessions_app.chats.reading.messages import Page, page_after, page_before, page_of_all, position_of
from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.core.errors import NotFound

A_PAGE = 40
# Positions count from 1.
AFTER_ALL = 2**62


class Asked(NamedTuple):
    """A page of messages, and whether there are older and newer ones. `version`: the id of the message off the session's path
    to which the page leads; empty: the page is of the session's path."""

    page: Page
    older: bool
    newer: bool
    version: str = ""


def asked_page(asked: QueryDict, session: SessionRow) -> Asked:
    """Raises NotFound if `before` or `after` names no message."""
    before, after, at = (asked.get(name) for name in ("before", "after", "at"))
    if after is not None:
        position = _position(session, after)
        page = page_after(session_id=session.id, live=session.live, position=position, limit=A_PAGE, within_bytes=True)
        return Asked(page, True, page.more)
    if before is not None:
        if (place := _aside(session, before)) is not None:
            return _path_to(session, before, place)
        page = _page_before(session, _position(session, before))
        return Asked(page, page.more, True)
    if at is not None and _aside(session, at) is not None:
        return _path_to(session, at)
    page = _page_before(session, AFTER_ALL)
    if at is not None and (around := _page_around(session, at, page)) is not None:
        return Asked(around, around.more, True)
    return Asked(page, page.more, False)


def newest_in_version(session: SessionRow) -> str:
    """The id of the newest message where the session's path has none; empty: there is no message."""
    newest = page_of_all(session_id=session.id, live=session.live, before=AFTER_ALL, limit=1).items
    return newest[0]["id"] if newest else ""


def _aside(session: SessionRow, message_id: str) -> Place | None:
    """The place of a live message that is off the session's path, or None."""
    if session.head is None:
        return None
    place = find_place(session_id=session.id, live=session.live, message_id=message_id)
    return place if place is not None and place.aside else None


def _path_to(session: SessionRow, message_id: str, before: Place | None = None) -> Asked:
    """The end of the path to a message, or what is on it before a place. What follows on the session's path is no part of it."""
    own: dict[str, Any] = {"session_id": session.id, "live": session.live}
    page = path_to(**own, head=message_id, before=before, limit=A_PAGE, within_bytes=True)
    return Asked(page, page.more, False, message_id)


def _page_around(session: SessionRow, message_id: str, newest: Page) -> Page | None:
    """None if the message is among the newest ones, or no longer exists, or nothing is left around it."""
    position = position_of(session_id=session.id, live=session.live, message_id=message_id)
    if position is None or not newest.items or position >= newest.items[0]["position"]:
        return None
    page = _page_before(session, position + A_PAGE // 2)
    # The messages after it may be so large that it has no room beside them.
    reaches = page.items and page.items[0]["position"] <= position
    page = page if reaches else _page_before(session, position + 1)
    # A removed one may have been before all that is on the path now.
    return page if page.items or page.skipped else None


def _page_before(session: SessionRow, position: int) -> Page:
    return page_before(session_id=session.id, live=session.live, position=position, limit=A_PAGE, within_bytes=True)


def _position(session: SessionRow, message_id: str) -> int:
    found = position_of(session_id=session.id, live=session.live, message_id=message_id)
    if found is None:
        raise NotFound
    return found
