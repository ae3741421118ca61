"""`/`: what one has, and what goes on in it."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from sessions_app.models.project import NAME_LENGTH, PATH_LENGTH
from sessions_app.queries.overview import list_overviews
from sessions_app.queries.projects import list_projects
from sessions_app.schemas.common import make_cursor, read_cursor
from sessions_app.services.projects import create_project
from sessions_app.views.frame import caller_of

A_PAGE = 30


class ProjectForm(forms.Form):
    path = forms.CharField(max_length=PATH_LENGTH, help_text="Such as /home/ana/shop, or any name.")
    name = forms.CharField(max_length=NAME_LENGTH, required=False, help_text="How it is shown. The path, if left empty.")


@login_required
@require_http_methods(["GET", "POST"])
def home(request: HttpRequest) -> HttpResponse:
    caller = caller_of(request)
    form = ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        project, created = create_project(caller=caller, path=form.cleaned_data["path"], name=form.cleaned_data["name"])
        messages.success(request, f"{project} is there now." if created else f"{project} was there already.")
        return redirect("home")
    if request.GET.get("state") == "deleted":
        trash = list_projects(caller=caller, deleted=True, limit=A_PAGE)[:A_PAGE]
        return render(request, "sessions_app/home_trash.html", {"trash": trash})
    text, cursor = request.GET.get("q", "").strip(), request.GET.get("cursor")
    rows = list_overviews(caller=caller, text=text, after=read_cursor(cursor), limit=A_PAGE)
    last = rows[A_PAGE - 1].project if len(rows) > A_PAGE else None
    context = {
        "rows": rows[:A_PAGE],
        "next": make_cursor(last.updated_at, last.id) if last else None,
        "text": text,
        "form": form,
    }
    return render(request, "sessions_app/home.html", context, status=422 if form.errors else 200)
