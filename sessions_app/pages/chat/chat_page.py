"""The chat page: an ordinary frontend of the public API and the browser module. Here is only its server-side view."""

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.frontends.app_state.queries import get_app_state
from sessions_app.projects.services import check_path

CLIENT = "chat"


@require_safe
@login_required
def chat(request: HttpRequest) -> HttpResponse:
    """The chat of `?project=PATH`, or of the project opened last."""
    state = get_app_state(caller=signed_in_caller(request), client=CLIENT)
    project = request.GET.get("project", "").strip() or state.selected_project or ""
    if project:
        check_path(project)
    answerer = settings.CHAT_MODEL if settings.CHAT_URL else "the built-in stand-in"
    context = {"project": project, "recent": state.recent_projects, "answerer": answerer}
    return render(request, "pages/chat/chat.html", context)
