"""Ways to a place in a long session: its contents, a number or date, and a text. Each is a page, and a part for scripts."""

import uuid
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import quote, urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from sessions_app.chats.reading.finding import TextHits, find_in_session, message_from_position, message_from_time
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.models import ChatSession
from sessions_app.pages.session.outline import KINDS, outline_of
from sessions_app.projects.queries import get_project

LINES_A_PAGE, HITS_A_PAGE = 200, 200
MOST_CHARACTERS = 200
LARGEST = 2**62


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def outline_page(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """The session's contents after the position `?after=`; `?kind=`: only questions, tools, failures or compactions."""
    session = get_session(caller=signed_in_caller(request), session_id=session_id)
    kind = request.GET.get("kind", "")
    kind = kind if kind in KINDS else ""
    after = _number(request.GET.get("after", ""), 0)
    found = outline_of(session_id=session.id, live=session.live, after=after, kind=kind, limit=LINES_A_PAGE)
    context = {"lines": found.lines, "next": found.next, "kind": kind, "kinds": KINDS.items(), "after": after}
    return _shown(request, session, "pages/session/outline.html", context)


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def find_page(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """Messages of the session with the text `?q=`, newest first, before the position `?before=`."""
    session = get_session(caller=signed_in_caller(request), session_id=session_id)
    text = request.GET.get("q", "").strip()[:MOST_CHARACTERS]
    before = _number(request.GET.get("before", ""), LARGEST)
    found = TextHits([], None)
    if text:
        found = find_in_session(session_id=session.id, live=session.live, text=text, before=before, limit=HITS_A_PAGE)
    return _shown(request, session, "pages/session/find.html", {"hits": found.hits, "next": found.next, "text": text})


@login_required
@never_cache
@require_safe
def go_to(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """To the message with the number `?to=`, or the first one from a date or time on (UTC without a zone)."""
    session = get_session(caller=signed_in_caller(request), session_id=session_id)
    wanted = request.GET.get("to", "").strip().removeprefix("#")
    found = None
    if wanted.isdecimal():
        found = message_from_position(session_id=session.id, live=session.live, position=_number(wanted, LARGEST))
    elif (moment := _moment(wanted)) is not None:
        found = message_from_time(session_id=session.id, live=session.live, moment=moment)
    else:
        messages.error(request, "Give a message's number, such as 120, or a date, such as 2026-11-30.")
    return redirect(reverse("session", args=[session_id]) if found is None else link_to(session, *found))


def link_to(session: SessionRow, message_id: str, position: int) -> str:
    """The permanent address of a message."""
    place = urlencode({"at": message_id}, quote_via=quote)
    return f"{reverse('session', args=[session.id])}?{place}#message-{position}"


def _shown(request: HttpRequest, session: SessionRow, template: str, context: dict[str, Any]) -> HttpResponse:
    project = get_project(caller=signed_in_caller(request), project_id=session.project_id)
    name = ChatSession.objects.name_of(session)
    shown = {"session": session, "name": name, "project": project, "here": project.id, **context}
    return render(request, f"{template}#part" if getattr(request, "htmx", False) else template, shown)


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 19 else otherwise


def _moment(text: str) -> datetime | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
