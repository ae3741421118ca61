"""One session's page: its transcript, older messages by page, and the changes since a rev."""

import uuid
from typing import Any

import orjson
from django.contrib import messages as toasts
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from sessions_app.chats.lifecycle.removed_queries import last_cleared, list_conflicts, live_among, was_here
from sessions_app.chats.reading.branches import MOST_COUNTED, count_aside, with_siblings
from sessions_app.chats.reading.message_changes import changed_since
from sessions_app.chats.reading.messages import Page, find_message
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.core.errors import Invalid, NotFound
from sessions_app.core.rendering.page_renderer import PageRenderer
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.models import Caller, ChatSession
from sessions_app.pages.session.agent_panel import agent_panel
from sessions_app.pages.session.asked_page import asked_page, newest_in_version
from sessions_app.pages.session.parts.blocks import source_text
from sessions_app.pages.session.transcript import shown
from sessions_app.projects.queries import get_project

CHANGES_A_PAGE = 100
CONFLICTS_SHOWN = 20
NOT_HERE = "The message of this address is not here any more: it was deleted or cleared."
NEVER_HERE = "The address names no message of this session. These are the newest ones."


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def session_page(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """The newest messages, or with `?before=` or `?after=` those before or after a message, or with `?at=` those around it.

    A message off the session's path is shown with the path to it; the path stays as it is.
    """
    return show_session(request, session_id)


def show_session(
    request: HttpRequest, session_id: uuid.UUID, typed: dict[str, str] | None = None, *, status: int = 200
) -> HttpResponse:
    """`typed`: a title that was not saved, and the page that its form goes back to."""
    caller = signed_in_caller(request)
    session = get_session(caller=caller, session_id=session_id)
    page, older, newer, version = asked_page(request.GET, session)
    renderer = PageRenderer(caller.user_id)
    messages = shown(_beside(session, page), renderer)
    context: dict[str, Any] = {"session": session, "messages_shown": messages, "more": older, "newer": newer, "version": version}
    if request.htmx:  # type: ignore[attr-defined]
        # What is on the other side is on the page already.
        context |= {"more": older and "after" not in request.GET, "newer": newer and "after" in request.GET}
        return render(request, "pages/session/session.html#messages", context)
    if (at := request.GET.get("at")) is not None and at not in {message["id"] for message in (*page.items, *page.skipped)}:
        known = was_here(session_id=session.id, live=session.live, message_id=at)
        toasts.error(request, NOT_HERE if known else NEVER_HERE)
    context |= _rail(caller, session, renderer) | {"here": session.project_id, "skipped": page.skipped, **(typed or {})}
    if not (messages or older or newer) and context["aside"]:
        context["in_version"] = newest_in_version(session)
    return render(request, "pages/session/session.html", context, status=status)


@login_required
@never_cache
@require_safe
def session_rail(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """The current sidebar of the transcript."""
    caller = signed_in_caller(request)
    session = get_session(caller=caller, session_id=session_id)
    return render(
        request, "pages/session/_agent_panel.html", {"session": session, **_rail(caller, session, PageRenderer(caller.user_id))}
    )


@login_required
@never_cache
@require_safe
def session_changes(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """Changes after rev `?since=`: new or changed articles; headers list removed messages and the next `since`."""
    caller = signed_in_caller(request)
    session = get_session(caller=caller, session_id=session_id)
    since = request.GET.get("since", "")
    if not since.isdecimal() or len(since) > 18:
        raise Invalid("`since` is the rev that the page shows.", details={"field": "since"})
    page, removed, last = changed_since(session_id=session.id, live=session.live, rev=int(since), limit=CHANGES_A_PAGE)
    messages = shown(_beside(session, page), PageRenderer(caller.user_id))
    reply = render(request, "pages/session/session.html#articles", {"session": session, "messages_shown": messages})
    reply["Stillhere-Epoch"] = str(session.epoch)
    reply["Stillhere-Rev"] = str(session.rev if last is None else last)
    reply["Stillhere-More"] = "1" if last is not None else ""
    reply["Stillhere-Removed"] = orjson.dumps(removed).decode().encode("ascii", "backslashreplace").decode()
    return reply


@login_required
@never_cache
@require_safe
def message_source(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """A message's source text, for *Copy message*."""
    session = get_session(caller=signed_in_caller(request), session_id=session_id)
    found = find_message(session_id=session.id, live=session.live, message_id=request.GET.get("id", ""))
    if found is None:
        raise NotFound
    return HttpResponse(found["text"], content_type="text/plain; charset=utf-8")


def _rail(caller: Caller, session: SessionRow, renderer: PageRenderer) -> dict[str, Any]:
    copies = list_conflicts(session_id=session.id, after=None, limit=CONFLICTS_SHOWN)
    texts = [source_text(copy.role, copy.text) for copy in copies[:CONFLICTS_SHOWN]]
    renderer.prepare(texts)
    named = {copy.message_id for copy in copies}
    here = live_among(session_id=session.id, live=session.live, message_ids=named)
    aside = count_aside(session_id=session.id, live=session.live) if session.head is not None else 0
    return {
        "project": get_project(caller=caller, project_id=session.project_id),
        "name": ChatSession.objects.name_of(session),
        "conflicts": [
            {"copy": copy, "html": renderer.render(text), "live": copy.message_id in here, "shown": here.get(copy.message_id)}
            for copy, text in zip(copies, texts, strict=False)
        ],
        "more_conflicts": len(copies) > CONFLICTS_SHOWN,
        "aside": aside,
        "more_aside": aside == MOST_COUNTED,
        "cleared": last_cleared(session.id) if session.epoch > 1 else None,
        "held": agent_panel(caller=caller, session_id=session.id, renderer=renderer),
    }


def _beside(session: SessionRow, page: Page) -> Page:
    return page if session.head is None else with_siblings(page, session_id=session.id, live=session.live)
