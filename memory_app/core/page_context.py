"""Shared by the memory pages: a project's tab, and whose lease an edit overrides."""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory_app.core.store_queries import get_store
from memory_app.models import Run
from sessions_app.core.public_names import now
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.projects.queries import get_project


def page(
    request: HttpRequest,
    project_id: uuid.UUID,
    template: str,
    context: dict[str, Any],
    *,
    tab: str = "memory",
    status: int = 200,
) -> HttpResponse:
    """Renders a page of the project; the template gets its store and the lease holder."""
    project = get_project(caller=signed_in_caller(request), project_id=project_id)
    store = get_store(project_id=project_id)
    shown = {"project": project, "here": project_id, "tab": tab, "store": store, "holder": store.holder_at(now())}
    return render(request, f"memory/{template}.html", shown | context, status=status)


def overridden(project_id: uuid.UUID) -> str:
    """The sentence for a success message that names the overridden lease holder."""
    holder = get_store(project_id=project_id).holder_at(now())
    return "" if holder is None else f" It overrides {run_name(holder)}, which holds the writer's lease."


def run_name(run: Run) -> str:
    return f"run {run.number} ({run.agent})" if run.agent else f"run {run.number}"
