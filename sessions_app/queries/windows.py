"""Live windows as JSON, kept once read: what a window holds is named by its session's epoch and rev, which every change of
its messages raises, so the same one need not be read twice. Memory is bounded by `STILLHERE_WINDOW_CACHE_BYTES`."""

from threading import Lock
from typing import NamedTuple

import orjson
from cachetools import LRUCache
from django.conf import settings

from sessions_app.queries.messages import live_window
from sessions_app.queries.sessions import SessionRow

# An ETag that ends so belongs to an answer in which a message was still streaming. Such a message turns into an
# interrupted one by the clock alone, so the answer is never "unchanged" for it.
STREAMING_MARK = ".s"


class Window(NamedTuple):
    """A live window ready to send: `messages` is a JSON list."""

    messages: bytes
    skipped: list[dict[str, str]]
    more: bool
    streaming: bool

    def as_json(self) -> dict[str, object]:
        return {"messages": orjson.Fragment(self.messages), "skipped": self.skipped, "more": self.more}

    def mark(self, etag: str) -> str:
        """The ETag of an answer that carries this window."""
        return marked(etag, streaming=self.streaming)


# Created, so that an id which was purged and given anew is another session.
_Name = tuple[str, str, str]
# One a session: what it was before a change nobody asks for again.
_kept: LRUCache[str, tuple[_Name, Window]] = LRUCache(settings.WINDOW_CACHE_BYTES, getsizeof=lambda kept: len(kept[1].messages))
_lock = Lock()


def marked(etag: str, *, streaming: bool) -> str:
    return f'{etag[:-1]}{STREAMING_MARK}"' if streaming else etag


def window_of(session: SessionRow) -> Window:
    """The session's live window as of its row (or a moment later, as any two reads)."""
    name = (str(session.id), session.created_at, session.etag)
    with _lock:
        kept = _kept.get(name[0])
    if kept is not None and kept[0] == name:
        return kept[1]
    page = live_window(session_id=session.id, epoch=session.epoch)
    window = Window(orjson.dumps(page.items), page.skipped, page.more, page.streaming)
    # What changes by the clock, or by a repair, is read anew each time.
    if not window.streaming and not window.skipped and len(window.messages) <= _kept.maxsize:
        with _lock:
            _kept[name[0]] = (name, window)
    return window
