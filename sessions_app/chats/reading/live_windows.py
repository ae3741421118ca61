"""Cache of live windows as JSON. The key has the session's epoch and rev: every change of its messages raises the rev,
so entries never become stale. Memory is bounded by `STILLHERE_WINDOW_CACHE_BYTES`."""

from threading import Lock
from typing import NamedTuple

import orjson
from cachetools import LRUCache
from django.conf import settings

from sessions_app.chats.reading.branches import with_siblings
from sessions_app.chats.reading.messages import Page, live_window
from sessions_app.chats.reading.sessions import SessionRow, moved_on
from sessions_app.core.web.preconditions import STREAMING_MARK


class Window(NamedTuple):
    """A live window ready to send: `messages` is a JSON list."""

    messages: bytes
    skipped: list[dict[str, str]]
    more: bool
    streaming: bool

    def as_json(self) -> dict[str, object]:
        return {"messages": orjson.Fragment(self.messages), "skipped": self.skipped, "more": self.more}

    def mark(self, etag: str) -> str:
        """The ETag of a response with this window."""
        return marked(etag, streaming=self.streaming)


# The creation time, so that a reused id of a purged session is another session.
_Name = tuple[str, str, str]
# One window for each session: older versions are not requested again.
_kept: LRUCache[str, tuple[_Name, Window]] = LRUCache(settings.WINDOW_CACHE_BYTES, getsizeof=lambda kept: len(kept[1].messages))
_lock = Lock()


def marked(etag: str, *, streaming: bool) -> str:
    return f'{etag[:-1]}{STREAMING_MARK}"' if streaming else etag


def shown_window(session: SessionRow) -> Page:
    """The live window with the siblings of its messages."""
    page, live = live_window(session_id=session.id, live=session.live), session.live
    if not page.items and (now_live := moved_on(session)) is not None:
        page, live = live_window(session_id=session.id, live=now_live), now_live
    return page if session.head is None else with_siblings(page, session_id=session.id, live=live)


def window_of(session: SessionRow) -> Window:
    """The session's live window as of its row (or slightly later, as these are two reads)."""
    name = (str(session.id), session.created_at, session.etag)
    with _lock:
        kept = _kept.get(name[0])
    if kept is not None and kept[0] == name:
        return kept[1]
    page = shown_window(session)
    window = Window(orjson.dumps(page.items), page.skipped, page.more, page.streaming)
    # Windows that change by time, or by a repair, are not cached.
    if not window.streaming and not window.skipped and len(window.messages) <= _kept.maxsize:
        with _lock:
            _kept[name[0]] = (name, window)
    return window
