"""One project's sessions, and its way through the trash."""

import uuid
from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.chats.lifecycle.deletion import delete_project, purge_project, undelete_project
from sessions_app.chats.lifecycle.removed_queries import count_conflicts
from sessions_app.chats.reading.session_filters import DEFAULT_SORT, SessionFilter
from sessions_app.chats.reading.session_lists import list_sessions
from sessions_app.chats.reading.session_previews import Last, last_words, list_trash
from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.chats.search.message_search import newest_hits
from sessions_app.chats.search.services import catch_up
from sessions_app.chats.sessions.list_cursors import make_place, read_place
from sessions_app.chats.sessions.services import create_session_of_form
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.core.text import same_name
from sessions_app.core.web.page_context import newest_page, project_page, rows_asked, signed_in_caller
from sessions_app.core.web.schemas import make_cursor, read_cursor
from sessions_app.models import Caller, ChatSession
from sessions_app.models.session import SessionState
from sessions_app.pages.session.move_targets import move_targets
from sessions_app.pages.trace.list_totals import list_totals
from sessions_app.projects.queries import get_project, get_trashed

A_PAGE, MOST_AT_ONCE = 30, 200
TRASH = "deleted"
# Before the cursor of a page that continues among the pinned sessions.
PINNED = "pinned:"
STATES = {state.value: state for state in (SessionState.EARLIER, SessionState.ARCHIVED)}


@login_required
@require_http_methods(["GET", "POST"])
def project_sessions(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """GET: the list. POST: creates a session, which becomes the current one."""
    caller = signed_in_caller(request)
    project = get_project(caller=caller, project_id=project_id)
    if request.method == "POST":
        form = uuid_or_none(request.POST.get("token", "")) or uuid.uuid4()
        made = create_session_of_form(caller=caller, project_id=project_id, form=form)
        messages.success(request, "New session created. It is now the current one.")
        return redirect("session", made.id)
    text, state = request.GET.get("q", "").strip(), request.GET.get("state", "")
    read = _trash if state == TRASH else _sessions
    context: dict[str, Any] = {"text": text, "state": state, "newest": newest_page(request), "form_token": uuid.uuid4()}
    context |= read(request, caller, project_id)
    return project_page(request, project, "pages/dashboard/project_sessions.html", tab="sessions", **context)


def _trash(request: HttpRequest, caller: Caller, project_id: uuid.UUID) -> dict[str, Any]:
    text, after = request.GET.get("q", "").strip(), read_cursor(request.GET.get("cursor"))
    trash = list_trash(caller=caller, project_id=project_id, text=text, after=after, limit=A_PAGE)
    last = trash.rows[-1] if trash.more else None
    following = make_cursor(last.deleted_at, last.id) if last and last.deleted_at else None
    names = ChatSession.objects.names_of(trash.rows)
    return {"trash": [(row, names[row.id]) for row in trash.rows], "total": trash.total, "next": following}


def _sessions(request: HttpRequest, caller: Caller, project_id: uuid.UUID) -> dict[str, Any]:
    text, cursor = request.GET.get("q", "").strip(), request.GET.get("cursor", "")
    if text:
        catch_up()
    wanted = SessionFilter(text=text, state=STATES.get(request.GET.get("state", "")))
    read = _found if text else _pinned_first
    found, following = read(caller, project_id, wanted, cursor, rows_asked(request, A_PAGE, MOST_AT_ONCE))
    return {"rows": _shown(found, text), "next": following, "places": move_targets(caller, without=project_id)}


def _shown(found: list[SessionRow], text: str) -> list[dict[str, Any]]:
    ids = [row.id for row in found]
    last, hits, totals = last_words(session_ids=ids), newest_hits(session_ids=ids, text=text), list_totals(found)
    names, to_settle = ChatSession.objects.names_of(found), count_conflicts(ids)
    return [
        {
            "session": row,
            "name": names[row.id],
            "last": last.get(row.id, Last()),
            "to_settle": to_settle.get(row.id, 0),
            "hit": hits.get(row.id),
            "first": row.pinned and not text,
            "totals": totals[row.id],
        }
        for row in found
    ]


def _pinned_first(
    caller: Caller, project_id: uuid.UUID, wanted: SessionFilter, cursor: str, limit: int
) -> tuple[list[SessionRow], str | None]:
    """One page of the list, and the cursor of the next: first all pinned sessions, then the others."""
    pinned: list[SessionRow] = []
    if not cursor or cursor.startswith(PINNED):
        pinned, more = _found(caller, project_id, replace(wanted, pinned=True), cursor.removeprefix(PINNED), limit)
        if more is not None:
            return pinned, PINNED + more
        cursor = ""
    # A page that refreshes itself asks for as many rows as it has, pinned ones among them.
    others, more = _found(caller, project_id, replace(wanted, pinned=False), cursor, max(A_PAGE, limit - len(pinned)))
    return [*pinned, *others], more


def _found(
    caller: Caller, project_id: uuid.UUID, wanted: SessionFilter, cursor: str, limit: int
) -> tuple[list[SessionRow], str | None]:
    after = read_place(DEFAULT_SORT, cursor)
    found = list_sessions(caller=caller, project_id=project_id, wanted=wanted, after=after, limit=limit)
    return found.rows, None if found.next is None else make_place(DEFAULT_SORT, found.next)


@login_required
@require_POST
def remove_project(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """Moves the project to the trash; the user must type its name."""
    caller = signed_in_caller(request)
    project = get_project(caller=caller, project_id=project_id)
    if not same_name(request.POST.get("typed", ""), str(project)):
        messages.error(request, f"Nothing is deleted: type “{project}” to delete it.")
        return redirect("project_settings", project_id)
    delete_project(caller=caller, project_id=project_id)
    undo = reverse("restore_project", args=[project_id])
    messages.success(request, f"{project} is in the trash for 30 days.", extra_tags=undo)
    return redirect("home")


@login_required
@require_POST
def erase_project(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """Erases a project in the trash permanently; the user must type its path."""
    caller = signed_in_caller(request)
    path = get_trashed(caller=caller, project_id=project_id).path
    if same_name(request.POST.get("typed", ""), path):
        purge_project(caller=caller, project_id=project_id)
        messages.success(request, f"{path} is erased.")
    else:
        messages.error(request, f"Nothing is erased: type “{path}” to erase it.")
    return redirect(f"{reverse('home')}?state=deleted")


@login_required
@require_POST
def restore_project(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    project = undelete_project(caller=signed_in_caller(request), project_id=project_id)
    messages.success(request, f"{project} is back.")
    return redirect("project", project_id)
