"""A search sees every save that was acknowledged before it, so it first updates the index."""

import time
from dataclasses import dataclass

from django.db import DatabaseError

from sessions_app.chats.search.index_update import index_waiting
from sessions_app.chats.search.message_search import Hit, search_messages, search_titles
from sessions_app.models import Caller

# More texts wait only after an import; the server's own thread indexes those.
CATCH_UP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[Hit]
    next: str | None


def search(*, caller: Caller, text: str, before: int | None = None, limit: int = 50) -> Found:
    """Titles (on the first page), then messages, newest first."""
    catch_up()
    titles = search_titles(caller=caller, text=text) if before is None else []
    messages, following = search_messages(caller=caller, text=text, before=before, limit=limit)
    return Found([*titles, *messages], None if following is None else str(following))


def catch_up() -> None:
    """Index waiting texts for a limited time. A read-only store is searched without the update."""
    until = time.monotonic() + CATCH_UP_SECONDS
    try:
        while index_waiting() and time.monotonic() < until:
            pass
    except DatabaseError:
        return
