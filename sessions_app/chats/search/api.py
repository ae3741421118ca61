from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.chats.search.schemas import HitList, SearchQuery
from sessions_app.chats.search.services import read_places, search
from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.core.web.schemas import LIMIT
from sessions_app.models import Caller

router = Router(tags=["Search"])
LONGEST_WORDS = 200
FOUND = "Found anywhere in a title or text, in upper or lower case; or the whole `external_id` of a session."
WORDS: str = Query(..., min_length=1, max_length=LONGEST_WORDS, description=FOUND)  # type: ignore[type-arg]
FILTERS: SearchQuery = Query(...)  # type: ignore[type-arg]


@router.get("/search", response={200: HitList, **refusals(404, 410)}, operation_id="search")
def find(
    request: HttpRequest, filters: SearchQuery = FILTERS, q: str = WORDS, cursor: str | None = None, limit: int = LIMIT
) -> HttpResponse:
    """Search your own: external ids and titles, memory, handoff and errors if `in` names them, live messages, each newest first.

    A page may have fewer hits than `limit`, or none, and still a `next`: the time of a search is limited. Fewer than three
    characters are searched in titles, in what `in` names, and in the newest 10,000 messages of the store.
    """
    return search_reply(caller_of(request), q, filters, cursor, limit)


def search_reply(caller: Caller, words: str, filters: SearchQuery, cursor: str | None, limit: int) -> HttpResponse:
    page = search(
        caller=caller,
        text=words,
        within=read_places(filters.within),
        project=filters.project,
        wanted=filters.filter(),
        cursor=cursor,
        limit=limit,
    )
    return json_reply({"items": [hit.as_json() for hit in page.hits], "next": page.next})
