"""Moving a session to another project: a page, or the same form in a dialog."""

import uuid

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from sessions_app.agents.states.queries import states_in_session
from sessions_app.agents.transfer.transfer_targets import ai_names
from sessions_app.chats.lifecycle.bulk.services import change_sessions
from sessions_app.chats.lifecycle.bulk.work import Act, Change
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.core.errors import AppError, Conflict, Invalid
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.models import Caller, ChatSession
from sessions_app.pages.session.move_back import move_back_address
from sessions_app.pages.session.move_targets import chosen_place, move_targets
from sessions_app.projects.queries import get_project


class NoPlace(Invalid):
    code, message = "no_project", "Choose the project to move this session to."


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_http_methods(["GET", "HEAD", "POST"])
def move_page(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    caller = signed_in_caller(request)
    session = get_session(caller=caller, session_id=session_id)
    problem: AppError | None = None
    if request.method == "POST":
        try:
            return _move(request, caller, session)
        except (NoPlace, Conflict) as error:
            problem = error
    context = {
        "session": session,
        "name": ChatSession.objects.name_of(session),
        "project": get_project(caller=caller, project_id=session.project_id),
        "here": session.project_id,
        "places": move_targets(caller, without=session.project_id),
        "ais": ai_names(session_id=session.id),
        "has_agent_state": states_in_session(session.id, limit=0)[0] is not None,
        "problem": problem,
        "chosen": request.POST.get("project"),
    }
    name = "move.html#form" if request.htmx else "move.html"  # type: ignore[attr-defined]
    return render(request, f"pages/session/{name}", context, status=problem.status if problem else 200)


def _move(request: HttpRequest, caller: Caller, session: SessionRow) -> HttpResponse:
    if not request.POST.get("project"):
        raise NoPlace
    project = chosen_place(caller, request.POST["project"])
    done = change_sessions(caller=caller, sessions=[session.id], change=Change(Act.MOVE, to_project=project.id))
    if done.unknown:  # It was deleted meanwhile: raises what says so.
        get_session(caller=caller, session_id=session.id)
    said = f"Moved to {project}, with everything in it." if done.changed else f"It is in {project} already."
    messages.success(request, said, extra_tags=move_back_address(session.id, done.undo))
    return redirect("session", session.id)
