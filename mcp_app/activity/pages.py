"""The page Agents of a project: who is connected, who writes its memory, and what was called."""

import uuid

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from mcp_app.activity.queries import CONNECTED_FOR, list_calls, list_clients
from memory_app.runs.queries import list_run_states
from sessions_app.core.public_names import now
from sessions_app.core.web.page_context import project_page, signed_in_caller
from sessions_app.projects.queries import get_project

RUNS = 20


@login_required
@require_safe
def agents(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    caller = signed_in_caller(request)
    project = get_project(caller=caller, project_id=project_id)
    since = now() - CONNECTED_FOR
    clients = [
        {"client": client, "connected": client.last_seen_at > since}
        for client in list_clients(caller=caller, project_id=project_id)
    ]
    runs = list_run_states(caller=caller, project_id=project_id, limit=RUNS)
    calls = list_calls(caller=caller, project_id=project_id)
    return project_page(request, project, "mcp/agents.html", tab="agents", clients=clients, runs=runs, calls=calls)
