"""`/palette/`: what the command palette finds on the server, as JSON. Its other commands are on the page that it is opened on."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.chats.reading.session_filters import SessionFilter
from sessions_app.chats.reading.session_lists import list_sessions
from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.models import Caller, ChatSession
from sessions_app.projects.queries import list_projects

PROJECTS, SESSIONS = 5, 8
MOST_CHARACTERS = 200


@login_required
@never_cache
@require_safe
def options(request: HttpRequest) -> JsonResponse:
    """`{groups: [{label, items: [{label, hint, href}]}]}`: projects and sessions whose name or title has `?q=`; without it the
    last changed ones."""
    caller, text = signed_in_caller(request), request.GET.get("q", "").strip()[:MOST_CHARACTERS]
    groups = [("Sessions", _sessions(caller, text)), ("Projects", _projects(caller, text))]
    return JsonResponse({"groups": [{"label": label, "items": items} for label, items in groups]})


def _projects(caller: Caller, text: str) -> list[dict[str, Any]]:
    found = list_projects(caller=caller, text=text, limit=PROJECTS)[:PROJECTS]
    return [{"label": row.label, "hint": row.path, "href": reverse("project", args=[row.id])} for row in found]


def _sessions(caller: Caller, text: str) -> list[dict[str, Any]]:
    found = list_sessions(caller=caller, wanted=SessionFilter(text=text), limit=SESSIONS).rows
    names = ChatSession.objects.names_of(found)
    return [{"label": names[row.id], "hint": _hint(row, text), "href": reverse("session", args=[row.id])} for row in found]


def _hint(row: SessionRow, text: str) -> str:
    """What was typed is in it: the palette leaves out what has other words."""
    return f"{text} · {row.project_path}" if row.external_id == text else row.project_path
