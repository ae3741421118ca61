"""`/`: the user's projects and their recent activity."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from sessions_app.core.web.page_context import newest_page, rows_asked, signed_in_caller
from sessions_app.core.web.schemas import make_cursor, read_cursor
from sessions_app.models import Caller, Project
from sessions_app.models.project import PATH_LENGTH
from sessions_app.pages.dashboard.name_field import name_field
from sessions_app.pages.dashboard.project_overviews import list_overviews
from sessions_app.projects.queries import count_trashed, list_projects
from sessions_app.projects.services import create_project

A_PAGE, MOST_AT_ONCE = 30, 200


class ProjectForm(forms.Form):
    path = forms.CharField(max_length=PATH_LENGTH, help_text="Such as /home/ana/shop, or any name.")
    name = name_field()


@login_required
@require_http_methods(["GET", "POST"])
def home(request: HttpRequest) -> HttpResponse:
    caller = signed_in_caller(request)
    form = ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        project, created = create_project(caller=caller, path=form.cleaned_data["path"], name=form.cleaned_data["name"])
        messages.success(request, f"{project} is created." if created else f"{project} already exists.")
        return redirect("project", project.id)
    if request.GET.get("state") == "deleted":
        return _trash(request, caller)
    text, limit = request.GET.get("q", "").strip(), rows_asked(request, A_PAGE, MOST_AT_ONCE)
    rows = list_overviews(caller=caller, text=text, after=read_cursor(request.GET.get("cursor")), limit=limit)
    context = {
        "rows": rows[:limit],
        "next": _following([row.project for row in rows], limit),
        "newest": newest_page(request),
        "text": text,
        "form": form,
    }
    return render(request, "pages/dashboard/home.html", context, status=422 if form.errors else 200)


def _trash(request: HttpRequest, caller: Caller) -> HttpResponse:
    rows = list_projects(caller=caller, deleted=True, after=read_cursor(request.GET.get("cursor")), limit=A_PAGE)
    context = {
        "trash": rows[:A_PAGE],
        "next": _following(rows, A_PAGE),
        "newest": newest_page(request),
        "total": count_trashed(caller=caller),
    }
    return render(request, "pages/dashboard/home_trash.html", context)


def _following(rows: list[Project], limit: int) -> str | None:
    """The cursor of the next page, of rows that are one more than `limit` if there is one."""
    return make_cursor(rows[limit - 1].updated_at, rows[limit - 1].id) if len(rows) > limit else None
