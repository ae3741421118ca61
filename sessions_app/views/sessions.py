"""One session's page: its transcript, older messages by page, and what changed since a number."""

import uuid
from typing import Any

import orjson
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from sessions_app.errors import Invalid, NotFound
from sessions_app.models import Caller
from sessions_app.queries.messages import Page, changed_since, page_before, position_of
from sessions_app.queries.projects import get_project
from sessions_app.queries.removed import list_conflicts
from sessions_app.queries.sessions import SessionRow, get_session
from sessions_app.views.frame import caller_of
from sessions_app.views.markdown import render as render_text
from sessions_app.views.states import held
from sessions_app.views.transcript import shown

A_PAGE = 40
CHANGES_A_PAGE = 100
CONFLICTS_SHOWN = 20
# Positions count from 1.
AFTER_ALL = 2**62


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def session_page(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """The newest messages, or with `?before=` the ones before a message, or with `?at=` the ones around it."""
    caller = caller_of(request)
    session = get_session(caller=caller, session_id=session_id)
    before, at = request.GET.get("before"), request.GET.get("at")
    position = AFTER_ALL if before is None else _position(session, before)
    page = page_before(session_id=session.id, epoch=session.epoch, position=position, limit=A_PAGE)
    if at is not None and (older := _page_around(session, at, page)) is not None:
        page, before = older, at
    context: dict[str, Any] = {"session": session, "messages_shown": shown(page), "more": page.more, "before": before}
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "sessions_app/session.html#messages", context)
    context |= _rail(caller, session) | {"here": session.project_id, "skipped": page.skipped}
    return render(request, "sessions_app/session.html", context)


@login_required
@never_cache
@require_safe
def session_rail(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """What stands beside the transcript, as it is now."""
    caller = caller_of(request)
    session = get_session(caller=caller, session_id=session_id)
    return render(request, "sessions_app/_session_rail.html", {"session": session, **_rail(caller, session)})


@login_required
@never_cache
@require_safe
def session_changes(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """What the page has to put in after `?since=`: articles, and in headers what goes and from where to go on."""
    session = get_session(caller=caller_of(request), session_id=session_id)
    since = request.GET.get("since", "")
    if not since.isdecimal() or len(since) > 18:
        raise Invalid("`since` is the rev that the page shows.", details={"field": "since"})
    page, removed, last = changed_since(session_id=session.id, epoch=session.epoch, rev=int(since), limit=CHANGES_A_PAGE)
    reply = render(request, "sessions_app/session.html#articles", {"session": session, "messages_shown": shown(page)})
    reply["Stillhere-Epoch"] = str(session.epoch)
    reply["Stillhere-Rev"] = str(session.rev if last is None else last)
    reply["Stillhere-More"] = "1" if last is not None else ""
    reply["Stillhere-Removed"] = orjson.dumps(removed).decode().encode("ascii", "backslashreplace").decode()
    return reply


def _rail(caller: Caller, session: SessionRow) -> dict[str, Any]:
    copies = list_conflicts(session_id=session.id, after=None, limit=CONFLICTS_SHOWN)
    return {
        "project": get_project(caller=caller, project_id=session.project_id),
        "conflicts": [{"copy": copy, "html": render_text(copy.text)} for copy in copies[:CONFLICTS_SHOWN]],
        "more_conflicts": len(copies) > CONFLICTS_SHOWN,
        "held": held(caller=caller, session_id=session.id),
    }


def _page_around(session: SessionRow, message_id: str, newest: Page) -> Page | None:
    """None where the newest messages have it, or none has it any more."""
    position = position_of(session_id=session.id, epoch=session.epoch, message_id=message_id)
    if position is None or not newest.items or position >= newest.items[0]["position"]:
        return None
    return page_before(session_id=session.id, epoch=session.epoch, position=position + A_PAGE // 2, limit=A_PAGE)


def _position(session: SessionRow, message_id: str) -> int:
    found = position_of(session_id=session.id, epoch=session.epoch, message_id=message_id)
    if found is None:
        raise NotFound
    return found
