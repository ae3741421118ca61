"""`/search/`: search over all that is the user's, with filters that work without scripts."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.chats.search.filters import SearchFilter
from sessions_app.chats.search.message_search import RECENT, Hit
from sessions_app.chats.search.services import DEFAULT_PLACES, Found, places, search
from sessions_app.chats.search.sources import SourceHit
from sessions_app.chats.search.trigrams import TRIGRAM
from sessions_app.core.errors import ForeignCursor, Gone, NotFound
from sessions_app.core.web.page_context import newest_page, signed_in_caller
from sessions_app.models import Caller, ChatSession
from sessions_app.models.message import Role
from sessions_app.projects.queries import list_projects

A_PAGE = 30
MOST_PROJECTS = 200
MOST_CHARACTERS = 200
CHATS, EVERYWHERE = "", "everything"


@login_required
@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """The page, or only the next rows for htmx."""
    words = request.GET.get("q", "").strip()[:MOST_CHARACTERS]
    found = _found(request, words) if words else Found([], None)
    chosen = {name: request.GET.get(name, "") for name in ("project", "in", "role", "since", "until")}
    context = {
        "words": words,
        "hits": _named(found.hits),
        "next": found.next,
        "recent": RECENT if 0 < len(words) < TRIGRAM else 0,
        "roles": Role.values,
        "places": [(CHATS, "Titles and messages"), (EVERYWHERE, "Everything"), *((name, name.capitalize()) for name in places())],
        "projects": _projects(signed_in_caller(request), chosen["project"].strip()),
        "chosen": chosen,
        "newest": newest_page(request),
    }
    template = "chats/search.html"
    more = getattr(request, "htmx", False) and "cursor" in request.GET
    reply = render(request, f"{template}#rows" if more else template, context)
    reply["Vary"] = "HX-Request"
    return reply


def _named(hits: list[Hit | SourceHit]) -> list[Hit | SourceHit]:
    names = ChatSession.objects.names_of({hit.session.id: hit.session for hit in hits if isinstance(hit, Hit)}.values())
    return [replace(hit, name=names[hit.session.id]) if isinstance(hit, Hit) else hit for hit in hits]


def _projects(caller: Caller, chosen: str) -> list[tuple[str, str]]:
    """Values and names of the projects to choose from. An address may name one by its path, or one that is not among them."""
    rows = list_projects(caller=caller, limit=MOST_PROJECTS)[:MOST_PROJECTS]
    named = [(row.path if row.path == chosen else str(row.id), row.label, row.path) for row in rows]
    shared = Counter(label for _, label, _ in named)
    values = [(value, f"{label} ({path})" if shared[label] > 1 else label) for value, label, path in named]
    return values if chosen in {"", *dict(values)} else [(chosen, chosen), *values]


def _found(request: HttpRequest, words: str) -> Found:
    """A filter that makes no sense is left out. A project that the user does not have has nothing to find."""
    asked, role, cursor = request.GET.get("in", ""), request.GET.get("role", ""), request.GET.get("cursor")
    until = _day(request.GET.get("until", ""))
    wanted = SearchFilter(
        role=role if role in Role.values else None,
        since=_day(request.GET.get("since", "")),
        until=None if until is None else until + timedelta(days=1, milliseconds=-1),
    )
    within = places() if asked == EVERYWHERE else [asked] if asked in places() else DEFAULT_PLACES
    project, caller = request.GET.get("project", "").strip(), signed_in_caller(request)
    for place in (cursor, None):
        try:
            return search(
                caller=caller, text=words, within=within, project=project or None, wanted=wanted, cursor=place, limit=A_PAGE
            )
        except ForeignCursor:
            continue
        except (NotFound, Gone):
            break
    return Found([], None)


def _day(text: str) -> datetime | None:
    """The beginning of a day, in UTC."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC) if 1970 <= day.year < 9999 else None
