"""One project's pages: its sessions and its settings."""

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.models import Project
from sessions_app.models.project import NAME_LENGTH
from sessions_app.queries.previews import Last, last_words, list_trash
from sessions_app.queries.projects import get_project, get_trashed
from sessions_app.queries.search import newest_hits
from sessions_app.queries.sessions import list_sessions
from sessions_app.schemas.common import make_cursor, read_cursor
from sessions_app.services.deletion import delete_project, purge_project, undelete_project
from sessions_app.services.projects import update_project
from sessions_app.services.searching import catch_up
from sessions_app.services.sessions import NewSession, create_session
from sessions_app.views.frame import SETTINGS_PARTS, caller_of

A_PAGE = 30
STATES = {"archived": True, "open": False}


@login_required
@require_http_methods(["GET", "POST"])
def project_sessions(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """POST: a new session, which becomes the current one."""
    caller = caller_of(request)
    project = get_project(caller=caller, project_id=project_id)
    if request.method == "POST":
        made = create_session(caller=caller, project_id=project_id, new=NewSession())
        messages.success(request, "A new session. It is the one that resumes now.")
        return redirect("session", made.id)
    if request.GET.get("state") == "deleted":
        trash = list_trash(caller=caller, project_id=project_id)
        return project_page(request, project, "sessions", state="deleted", trash=trash)
    text, state = request.GET.get("q", "").strip(), request.GET.get("state", "")
    if text:
        catch_up()
    after = read_cursor(request.GET.get("cursor"))
    rows = list_sessions(caller=caller, project_id=project_id, text=text, archived=STATES.get(state), after=after, limit=A_PAGE)
    ids = [row.id for row in rows[:A_PAGE]]
    last, hits = last_words(session_ids=ids), newest_hits(session_ids=ids, text=text)
    following = make_cursor(rows[A_PAGE - 1].updated_at, rows[A_PAGE - 1].id) if len(rows) > A_PAGE else None
    shown = [{"session": row, "last": last.get(row.id, Last()), "hit": hits.get(row.id)} for row in rows[:A_PAGE]]
    return project_page(request, project, "sessions", rows=shown, next=following, text=text, state=state)


class SettingsForm(forms.Form):
    name = forms.CharField(max_length=NAME_LENGTH, required=False, help_text="How it is shown. The path, if left empty.")
    redaction = forms.ChoiceField(
        label="Secrets in messages",
        choices=[("flag", "Point them out"), ("redact", "Replace them before they are stored"), ("off", "Leave them alone")],
    )


@login_required
@require_http_methods(["GET", "POST"])
def project_settings(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    caller = caller_of(request)
    project = get_project(caller=caller, project_id=project_id)
    stored = {"name": project.name, "redaction": project.settings.get("redaction", "flag")}
    form = SettingsForm(request.POST or None, initial=stored)
    if request.method == "POST" and form.is_valid():
        chosen = {**project.settings, "redaction": form.cleaned_data["redaction"]}
        fields = {"name": form.cleaned_data["name"], "settings": chosen}
        update_project(caller=caller, project_id=project_id, fields=fields)
        messages.success(request, "Saved.")
        return redirect("project_settings", project_id)
    parts = [part(request, project_id) for part in SETTINGS_PARTS]
    return project_page(request, project, "settings", form=form, parts=parts, status=422 if form.errors else 200)


@login_required
@require_POST
def remove_project(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """To the trash, for who typed the name."""
    caller = caller_of(request)
    project = get_project(caller=caller, project_id=project_id)
    if request.POST.get("typed", "").strip() != str(project).strip():
        messages.error(request, f"Nothing is deleted: type “{project}” to delete it.")
        return redirect("project_settings", project_id)
    delete_project(caller=caller, project_id=project_id)
    undo = reverse("restore_project", args=[project_id])
    messages.success(request, f"{project} is in the trash for 30 days.", extra_tags=undo)
    return redirect("home")


@login_required
@require_POST
def erase_project(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """Out of the trash for good, for who typed its path."""
    caller = caller_of(request)
    path = get_trashed(caller=caller, project_id=project_id).path
    if request.POST.get("typed", "").strip() == path.strip():
        purge_project(caller=caller, project_id=project_id)
        messages.success(request, f"{path} is erased.")
    else:
        messages.error(request, f"Nothing is erased: type “{path}” to erase it.")
    return redirect(f"{reverse('home')}?state=deleted")


@login_required
@require_POST
def restore_project(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    project = undelete_project(caller=caller_of(request), project_id=project_id)
    messages.success(request, f"{project} is back.")
    return redirect("project", project_id)


def project_page(request: HttpRequest, project: Project, tab: str, *, status: int = 200, **context: Any) -> HttpResponse:
    """A tab of the project."""
    shown = {"project": project, "here": project.id, "tab": tab, **context}
    return render(request, f"sessions_app/project_{tab}.html", shown, status=status)
