"""Template context for the layout of every page."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from sessions_app.core.callers import caller_of_user
from sessions_app.models import Caller, Project


def signed_in_caller(request: HttpRequest) -> Caller:
    """The signed-in user of the page."""
    return caller_of_user(request.user)


def project_page(
    request: HttpRequest, project: Project, template: str, *, tab: str, status: int = 200, **context: Any
) -> HttpResponse:
    """Render a tab of the project."""
    shown = {"project": project, "here": project.id, "tab": tab, **context}
    return render(request, template, shown, status=status)
