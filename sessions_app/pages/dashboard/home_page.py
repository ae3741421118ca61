"""`/`: the user's projects and their recent activity."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.schemas import make_cursor, read_cursor
from sessions_app.models.project import PATH_LENGTH
from sessions_app.pages.dashboard.name_field import name_field
from sessions_app.pages.dashboard.project_overviews import list_overviews
from sessions_app.projects.queries import list_projects
from sessions_app.projects.services import create_project

A_PAGE = 30


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
        trash = list_projects(caller=caller, deleted=True, limit=A_PAGE)[:A_PAGE]
        return render(request, "pages/dashboard/home_trash.html", {"trash": trash})
    text, cursor = request.GET.get("q", "").strip(), request.GET.get("cursor")
    rows = list_overviews(caller=caller, text=text, after=read_cursor(cursor), limit=A_PAGE)
    last = rows[A_PAGE - 1].project if len(rows) > A_PAGE else None
    context = {
        "rows": rows[:A_PAGE],
        "next": make_cursor(last.updated_at, last.id) if last else None,
        "text": text,
        "form": form,
    }
    return render(request, "pages/dashboard/home.html", context, status=422 if form.errors else 200)
