from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.chats.search.schemas import HitList
from sessions_app.chats.search.services import search
from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.core.web.schemas import LIMIT, read_number

router = Router(tags=["Search"])
WORDS: str = Query(..., min_length=1, max_length=200, description="Found anywhere in a title or text, in upper or lower case.")  # type: ignore[type-arg]


@router.get("/search", response={200: HitList, **refusals()}, operation_id="search")
def find(request: HttpRequest, q: str = WORDS, cursor: str | None = None, limit: int = LIMIT) -> HttpResponse:
    """Search all own sessions: titles first, then live messages, newest first.

    Fewer than three characters are searched in titles and in the newest 10,000 messages of the store.
    """
    page = search(caller=caller_of(request), text=q, before=read_number(cursor), limit=limit)
    return json_reply({"items": [hit.as_json() for hit in page.hits], "next": page.next})
