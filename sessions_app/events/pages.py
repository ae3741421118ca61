"""The activity page of a project."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from sessions_app.core.extension import extensions
from sessions_app.core.web.page_context import project_page, signed_in_caller
from sessions_app.events.activity_queries import Happened, list_newest_events
from sessions_app.models.event import EventType
from sessions_app.projects.queries import get_project

EVENTS_A_PAGE = 100
PHRASES = {
    EventType.SESSION_SAVED: "Session saved",
    EventType.SESSION_CREATED: "New session",
    EventType.SESSION_UPDATED: "Session changed",
    EventType.SESSION_CLEARED: "Session cleared",
    EventType.SESSION_DELETED: "Session deleted",
    EventType.AGENT_STATE_SAVED: "Agent state saved",
    EventType.PENDING_ACTION_RESOLVED: "Question answered",
    EventType.AI_STATE_SAVED: "AI state saved",
    EventType.AI_STATE_TRANSFERRED: "Content transferred",
    EventType.HANDOFF_CHANGED: "Handoff changed",
    EventType.HANDOFF_FROZEN: "Handoff frozen",
    EventType.MEMORY_CHANGED: "Memory changed",
    EventType.ERROR_RECORDED: "Errors recorded",
    EventType.LEASE_CHANGED: "Lease changed hands",
}


@dataclass(slots=True)
class Line:
    """Consecutive equal events by the same caller. `first`: the oldest number, which stays as the line grows. `about`: what all
    of them are about."""

    newest: Happened
    first: int
    about: str
    times: int = 1

    @property
    def phrase(self) -> str:
        words = self.newest.type.replace("_", " ").capitalize()
        if self.newest.type in EventType:
            return PHRASES.get(EventType(self.newest.type), words)
        others = {kind: phrase for extension in extensions() for kind, phrase in extension.event_phrases.items()}
        return others.get(self.newest.type, words)


@login_required
@vary_on_headers("HX-Request")
@require_safe
def project_activity(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """The page, or only the lines for a script."""
    project = get_project(caller=signed_in_caller(request), project_id=project_id)
    asked = request.GET.get("before", "")
    before = int(asked) if asked.isdecimal() and len(asked) < 19 else None
    events = list_newest_events(project_id=project.id, before=before, limit=EVENTS_A_PAGE)
    following = events[EVENTS_A_PAGE - 1].event_seq if len(events) > EVENTS_A_PAGE else None
    context: dict[str, Any] = {"lines": _lines(events[:EVENTS_A_PAGE]), "next": following, "before": before}
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "events/activity.html#lines", {"project": project, **context})
    return project_page(request, project, "events/activity.html", tab="activity", **context)


def _lines(events: list[Happened]) -> list[Line]:
    lines: list[Line] = []
    for event in events:
        last = lines[-1].newest if lines else None
        if last is not None and (last.type, last.session_id, last.by) == (event.type, event.session_id, event.by):
            lines[-1].times += 1
            lines[-1].first = event.event_seq
            lines[-1].about = event.about if event.about == lines[-1].about else ""
        else:
            lines.append(Line(event, event.event_seq, event.about))
    return lines
