"""A search sees every save that was acknowledged before it, so it first updates the index.

The cursor of a page is the number of a message, or for other places `KIND.PLACE`, as the source named it. "" is its beginning.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import DatabaseError

from sessions_app.chats.search.filters import NO_FILTER, SearchFilter
from sessions_app.chats.search.index_update import index_waiting
from sessions_app.chats.search.message_search import Hit, search_ids, search_messages, search_titles
from sessions_app.chats.search.sources import SourceHit, SourceQuery, read_place, sources
from sessions_app.core.errors import ForeignCursor, Invalid
from sessions_app.models import Caller, Project
from sessions_app.projects.queries import get_project_by_name

# More texts wait only after an import; the server's own thread indexes those.
CATCH_UP_SECONDS = 2.0
TITLES, MESSAGES = "titles", "messages"
DEFAULT_PLACES = (TITLES, MESSAGES)
# A step of its own, with the titles.
IDS = "external_ids"


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[Hit | SourceHit]
    next: str | None


class UnknownPlace(Invalid):
    def __init__(self, known: list[str]) -> None:
        message = f"`in` is a list, separated by commas, of {', '.join(known)}."
        super().__init__(message, details={"field": "in", "known": known})


def places() -> list[str]:
    """Everything that can be searched."""
    return [TITLES, MESSAGES, *sources()]


def read_places(text: str) -> tuple[str, ...]:
    """Parse the names of what is searched: unknown ones, or none, are refused."""
    named = [name.strip() for name in text.split(",")]
    if not set(named) <= set(places()):
        raise UnknownPlace(places())
    return tuple(dict.fromkeys(named))


def search(
    *,
    caller: Caller,
    text: str,
    within: Sequence[str] = DEFAULT_PLACES,
    project: str | None = None,
    wanted: SearchFilter = NO_FILTER,
    cursor: str | None = None,
    limit: int = 50,
) -> Found:
    """External ids and titles, then what extensions find, then messages, each newest first, together at most `limit` on a page.

    `project`: the path or id of the only one that is searched; → 404 if the caller has none of that name.
    """
    if project is not None:
        caller = replace(caller, project_id=get_project_by_name(caller=caller, name=project).id)
    steps = [MESSAGES] if MESSAGES in within else []
    if not wanted.of_messages_only:
        names = [IDS, TITLES] if TITLES in within else []
        steps = [*names, *(name for name in sources() if name in within), *steps]
    at, place = _read_cursor(cursor, steps)
    catch_up()
    hits: list[Hit | SourceHit] = []
    room = limit
    for step in steps[at:]:
        if room == 0:
            return Found(hits, f"{step}.")
        found, following = _search_step(caller, text, wanted, step, place, room)
        hits += found
        if following is not None:
            return Found(hits, following)
        room, place = room - len(found), ""
    return Found(hits, None)


def _search_step(
    caller: Caller, text: str, wanted: SearchFilter, step: str, place: str, limit: int
) -> tuple[Sequence[Hit | SourceHit], str | None]:
    """Hits of one kind, and the cursor of the next page of them."""
    if step == MESSAGES:
        before = int(place) if place else None
        messages, ended_at = search_messages(caller=caller, text=text, wanted=wanted, before=before, limit=limit)
        return messages, None if ended_at is None else str(ended_at)
    if step in {IDS, TITLES}:
        find = search_ids if step == IDS else search_titles
        titles, following = find(caller=caller, text=text, wanted=wanted, after=place, limit=limit)
        return titles, None if following is None else f"{step}.{following}"
    own = {project.id: project for project in Project.objects.visible_to(caller).alive().only("id", "path", "name")}
    if not own:
        return [], None
    page = sources()[step](SourceQuery(projects=own, text=text, wanted=wanted, after=place, limit=limit))
    return page.hits, None if page.next is None else f"{step}.{page.next}"


def _read_cursor(cursor: str | None, steps: list[str]) -> tuple[int, str]:
    """The step and the place in it at which a page begins. A cursor that this search did not return is refused."""
    if not cursor:
        return 0, ""
    step, _, place = cursor.partition(".") if "." in cursor else (MESSAGES, "", cursor)
    if step not in steps:
        raise ForeignCursor
    if step == MESSAGES:
        read_place(place)
    return steps.index(step), place


def catch_up() -> None:
    """Index waiting texts for a limited time. A read-only store is searched without the update."""
    until = time.monotonic() + CATCH_UP_SECONDS
    try:
        while index_waiting() and time.monotonic() < until:
            pass
    except DatabaseError:
        return
