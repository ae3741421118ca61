"""A search sees every save that was answered before it, so it first lets the index catch up."""

import time
from dataclasses import dataclass

from django.db import DatabaseError

from sessions_app.models import Caller
from sessions_app.queries.search import Hit, search_messages, search_titles
from sessions_app.services.indexing import index_waiting

# More than that waits only after an import; the server's own thread sees to it.
CATCH_UP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[Hit]
    next: str | None


def search(*, caller: Caller, text: str, before: int | None = None, limit: int = 50) -> Found:
    """Titles (on the first page), then messages, the newest first."""
    catch_up()
    titles = search_titles(caller=caller, text=text) if before is None else []
    messages, following = search_messages(caller=caller, text=text, before=before, limit=limit)
    return Found([*titles, *messages], None if following is None else str(following))


def catch_up() -> None:
    """Index what waits, for a while. A store that takes no writes is still searched as it is."""
    until = time.monotonic() + CATCH_UP_SECONDS
    try:
        while index_waiting() and time.monotonic() < until:
            pass
    except DatabaseError:
        return
