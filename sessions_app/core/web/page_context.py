"""Template context for the layout of every page."""

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from sessions_app.core.callers import caller_of_user
from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.models import Caller, Project


def signed_in_caller(request: HttpRequest) -> Caller:
    """The signed-in user of the page."""
    return caller_of_user(request.user)


def rows_asked(request: HttpRequest, least: int, most: int) -> int:
    """The number of rows to show: one page, or as many as the page that refreshes itself already shows."""
    return number_asked(request, "rows", least, least, most)


def number_asked(request: HttpRequest, name: str, default: int, least: int, most: int) -> int:
    asked = request.GET.get(name, "")
    return max(least, min(int(asked), most)) if asked.isascii() and asked.isdecimal() and len(asked) < 10 else default


def form_of(*sent: QueryDict) -> QueryDict:
    """What was sent, as a body of the API has it: PostgreSQL cannot even look for a NUL."""
    form = QueryDict(mutable=True)
    for name, values in (pair for one in sent for pair in one.lists()):
        form.setlist(name, [*form.getlist(name), *map(clean_text, values)])
    return form


def newest_page(request: HttpRequest) -> str:
    """The address of a list with its filters, from its beginning: `?cursor=` and `?rows=` are left out."""
    query = request.GET.copy()
    for place in ("cursor", "rows"):
        query.pop(place, None)
    return f"{request.path}?{query.urlencode()}" if query else request.path


def project_page(
    request: HttpRequest, project: Project, template: str, *, tab: str, status: int = 200, **context: Any
) -> HttpResponse:
    """Render a tab of the project."""
    shown = {"project": project, "here": project.id, "tab": tab, **context}
    return render(request, template, shown, status=status)
