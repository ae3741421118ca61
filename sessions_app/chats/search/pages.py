"""`/search/`: search over all of the user's sessions."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.chats.search.message_search import RECENT, TRIGRAM
from sessions_app.chats.search.services import Found, search
from sessions_app.core.web.page_context import signed_in_caller

A_PAGE = 30
MOST_CHARACTERS = 200


@login_required
@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """The page, or only the next rows for htmx."""
    words = request.GET.get("q", "").strip()[:MOST_CHARACTERS]
    cursor = request.GET.get("cursor", "")
    before = cursor if cursor.isascii() and cursor.isdigit() and len(cursor) < 19 else None
    found = search(caller=signed_in_caller(request), text=words, cursor=before, limit=A_PAGE) if words else Found([], None)
    context = {"words": words, "hits": found.hits, "next": found.next, "recent": RECENT if 0 < len(words) < TRIGRAM else 0}
    template = "chats/search.html"
    reply = render(request, f"{template}#rows" if getattr(request, "htmx", False) and before is not None else template, context)
    reply["Vary"] = "HX-Request"
    return reply
