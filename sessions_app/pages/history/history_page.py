"""`/sessions/{id}/history/?at=REV`: a session as it was at a revision, with a slider over all of them."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.chats.reading.messages import Page
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.core.rendering.page_renderer import PageRenderer
from sessions_app.core.rendering.page_renderer import render as render_text
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.models import ChatSession
from sessions_app.pages.history.epochs import list_clearings
from sessions_app.pages.history.marks import marks_of
from sessions_app.pages.history.moments import HIGHEST, Moment
from sessions_app.pages.history.past_messages import PastMessage, PastPage, moment_of, past_page
from sessions_app.pages.history.past_states import past_handoff, past_plan, past_todos
from sessions_app.pages.session.transcript import Shown, shown
from sessions_app.projects.queries import get_project

A_PAGE = 40
REMOVED = {"deleted": "deleted", "truncated": "cut off", "replaced": "replaced", "dropped": "dropped at the session's cap"}


@dataclass(frozen=True, slots=True)
class Told:
    """A message, and what is to be said about it."""

    shown: Shown
    past: PastMessage

    @property
    def removed(self) -> str:
        return REMOVED.get(self.past.removed, self.past.removed)


@login_required
@never_cache
@require_safe
def history(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """At the rev `?at=` (default: the newest); `?before=` a position: older messages of that moment."""
    caller = signed_in_caller(request)
    session = get_session(caller=caller, session_id=session_id)
    clearings = list_clearings(session.id)
    moment = moment_of(session, number(request, "at", session.rev), clearings)
    page = past_page(session, moment, clearings, before=number(request, "before", HIGHEST), limit=A_PAGE)
    told = _told(page, PageRenderer(caller.user_id))
    context = {
        "session": session,
        "name": ChatSession.objects.name_of(session),
        "project": get_project(caller=caller, project_id=session.project_id),
        "here": session.project_id,
        "moment": moment,
        "now": moment.until is None,
        "older": page.oldest if page.more else None,
        "earlier": moment.first - 1 if moment.first > 0 else None,
        "later": min(moment.last + 1, session.rev) if moment.rev < session.rev and moment.last < session.rev else None,
        "messages_shown": told,
        "changed": sum(one.past.changed_at is not None for one in told),
        "erased": page.erased,
        "fork_at": next((one.shown.id for one in reversed(told) if one.past.live), None),
        "marks": marks_of(session, clearings),
        **_states(session, moment, caller.user_id),
    }
    return render(request, "pages/history/history.html", context)


def number(request: HttpRequest, name: str, otherwise: int) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 12 else otherwise


def _told(page: PastPage, renderer: PageRenderer) -> list[Told]:
    by_position = {one.item["position"]: one for one in page.messages}
    items = [one.item for one in page.messages]
    return [Told(message, by_position[message.position]) for message in shown(Page(items, [], more=False), renderer)]


def _states(session: SessionRow, moment: Moment, user_id: int) -> dict[str, Any]:
    plan, todos = past_plan(session.id, moment), past_todos(session.id, moment)
    handoff = past_handoff(session.project_id, moment)
    return {
        "states": [*([plan] if plan is not None else []), *todos],
        "handoff": handoff,
        "handoff_summary": render_text(handoff.summary, user_id) if handoff is not None else "",
    }
