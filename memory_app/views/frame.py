"""What the pages of memory have in common: a project's tab, and whose lease an edit overrides."""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory_app.models import Run
from memory_app.queries.lease import get_store
from sessions_app.queries.projects import get_project
from sessions_app.queries.shared import now
from sessions_app.views.frame import caller_of


def page(
    request: HttpRequest,
    project_id: uuid.UUID,
    template: str,
    context: dict[str, Any],
    *,
    tab: str = "memory",
    status: int = 200,
) -> HttpResponse:
    """A page of the project; the template is told of its store and the holder of its lease."""
    project = get_project(caller=caller_of(request), project_id=project_id)
    store = get_store(project_id=project_id)
    shown = {"project": project, "here": project_id, "tab": tab, "store": store, "holder": store.holder_at(now())}
    return render(request, f"memory_app/{template}.html", shown | context, status=status)


def rows_asked(request: HttpRequest, least: int, most: int) -> int:
    """How many rows of a list: a page of it, or as many as stand on the page that brings itself up to date."""
    return number_asked(request, "rows", least, least, most)


def number_asked(request: HttpRequest, name: str, default: int, least: int, most: int) -> int:
    asked = request.GET.get(name, "")
    return max(least, min(int(asked), most)) if asked.isascii() and asked.isdecimal() and len(asked) < 10 else default


def overridden(project_id: uuid.UUID) -> str:
    """For the line that says what was done: whose lease it overrode."""
    holder = get_store(project_id=project_id).holder_at(now())
    return "" if holder is None else f" It overrides {run_name(holder)}, which holds the writer's lease."


def run_name(run: Run) -> str:
    return f"run {run.number} ({run.agent})" if run.agent else f"run {run.number}"
