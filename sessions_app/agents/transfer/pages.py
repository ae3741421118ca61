"""The transfer form: target, parts, conflict rule, and a preview before it runs."""

import uuid
from typing import Any

import orjson
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from sessions_app.agents.states.queries import states_in_session
from sessions_app.agents.transfer.execution import Choice, InTheWay, OnConflict, Part, UnknownAi
from sessions_app.agents.transfer.preview import Preview, in_the_way, preview_of
from sessions_app.agents.transfer.services import NoTarget, Transfer, transfer
from sessions_app.agents.transfer.state_merging import TooMuchTogether
from sessions_app.agents.transfer.transfer_targets import Target, ai_names, list_targets
from sessions_app.chats.reading.sessions import SessionDeleted, SessionRow, get_session, session_uuid
from sessions_app.chats.saving.receipts import Request
from sessions_app.core.errors import AppError, Conflict, Invalid, NotFound
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.serialization.json_text import fingerprint
from sessions_app.core.web.page_context import form_of, signed_in_caller
from sessions_app.core.web.toasts import toast_response
from sessions_app.models import Caller, ChatSession, Project
from sessions_app.projects.queries import ProjectDeleted, get_project, list_projects, project_uuid

SESSIONS, PROJECTS = 8, 6
PARTS = {Part.AGENT_STATE: "agent_state", Part.MESSAGES: "messages", Part.OPENING_STEP: "opening_step"}
STALE = "The session was cleared since this form was opened. Check it, then transfer its current content."


class Choose(Invalid):
    """The form is not filled in yet."""


class TargetGone(Conflict):
    code, message = "target_gone", "This target was deleted meanwhile. Choose another one, or restore it first."


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_http_methods(["GET", "HEAD", "POST"])
def transfer_page(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """GET: the form. POST: a preview; with the form's button: the transfer. Only the form where a dialog shows it."""
    caller = signed_in_caller(request)
    session = get_session(caller=caller, session_id=session_id)
    form = form_of(request.POST) if request.method == "POST" else _fresh(session)
    preview, problem = Preview(), None
    if request.method == "POST":
        try:
            wanted = _wanted(caller, session, form, dry_run=form.get("act") != "transfer")
            answer = transfer(caller=caller, session_id=session.id, wanted=wanted)
            if answer.status == Conflict.status:
                raise Conflict(STALE, code="stale_epoch")
            result = orjson.loads(answer.body)
            if not wanted.dry_run:
                page = reverse("session", args=[result["to_session"]])
                return toast_response(request, _told(result, wanted), page=page, undo=_undo_address(result, wanted))
            preview = preview_of(result["carried"], moves=wanted.choice.move, undoable=_is_undoable(wanted))
        except (Choose, Conflict, UnknownAi, TooMuchTogether) as error:
            problem, preview = error, in_the_way(error.details) if isinstance(error, InTheWay) else preview
        except (SessionDeleted, ProjectDeleted):
            get_session(caller=caller, session_id=session_id)  # Or it was the source: raises what says so.
            problem, form["to"] = TargetGone(), ""
    return _page(request, caller, session, form, preview, problem)


def _page(
    request: HttpRequest, caller: Caller, session: SessionRow, form: QueryDict, preview: Preview, problem: AppError | None
) -> HttpResponse:
    text, chosen = form.get("q", "").strip(), form.get("to", "")
    state, _ = states_in_session(session.id, limit=0)
    context: dict[str, Any] = {
        "session": session,
        "name": ChatSession.objects.name_of(session),
        "project": get_project(caller=caller, project_id=session.project_id),
        "here": session.project_id,
        "form": form,
        "text": text,
        "chosen": chosen,
        "targets": _targets(caller, session, text, chosen),
        "places": _places(caller, text, chosen),
        "ais": ai_names(session_id=session.id),
        "chosen_ais": form.getlist("ai"),
        "has_agent_state": state is not None,
        "preview": preview,
        "problem": problem,
    }
    asked = form.get("act") == "transfer"
    name = "transfer.html#form" if request.htmx else "transfer.html"  # type: ignore[attr-defined]
    return render(request, f"agents/transfer/{name}", context, status=problem.status if problem and asked else 200)


def _fresh(session: SessionRow) -> QueryDict:
    """The form's initial values: copy everything, overwrite nothing."""
    form = QueryDict(mutable=True)
    form.update({"mode": "copy", "on_conflict": "refuse", "epoch": str(session.epoch), "token": str(uuid.uuid4())})
    form.update(dict.fromkeys(PARTS.values(), "on"))
    form.setlist("ai", ai_names(session_id=session.id))
    return form


def _wanted(caller: Caller, session: SessionRow, form: QueryDict, *, dry_run: bool) -> Transfer:
    kind, _, chosen = form.get("to", "").partition(" ")
    if kind not in {"session", "project"}:
        raise Choose("Choose a target.")
    include = {part for part, name in PARTS.items() if name in form} | ({Part.AI_STATES} if form.getlist("ai") else set())
    if not include:
        raise Choose("Choose what to transfer.")
    to_project = get_project(caller=caller, project_id=project_uuid(chosen)).path if kind == "project" else None
    choice = Choice(
        include=frozenset(include),
        ai_ids=frozenset(form.getlist("ai")) if form.getlist("ai") else None,
        move=form.get("mode") == "move",
        on_conflict=_on_conflict(form),
    )
    return Transfer(
        to_session=parse_id(chosen, NoTarget) if kind == "session" else None,
        to_project=to_project,
        choice=choice,
        epoch=_epoch(form),
        request=None if dry_run else _request(session, form),
        dry_run=dry_run,
    )


def _request(session: SessionRow, form: QueryDict) -> Request:
    """Identifies the request: the same form sent twice runs once; with other values it is another request."""
    content = fingerprint({name: form.getlist(name) for name in form if name not in {"csrfmiddlewaretoken", "q"}})
    writer = uuid.uuid5(parse_id(form.get("token", ""), NotFound), content)
    return Request(session.id, str(writer), 1, content)


def _on_conflict(form: QueryDict) -> OnConflict:
    try:
        return OnConflict(form.get("on_conflict", ""))
    except ValueError:
        raise Choose("Choose what happens to existing content.") from None


def _epoch(form: QueryDict) -> int:
    epoch = form.get("epoch", "")
    if not epoch.isdecimal() or len(epoch) > 18:
        raise Invalid("This form was incomplete. Reload the page.", details={"field": "epoch"})
    return int(epoch)


def _targets(caller: Caller, session: SessionRow, text: str, chosen: str) -> list[Target]:
    kind, _, chosen_id = chosen.partition(" ")
    kept = session_uuid(chosen_id) if kind == "session" else None
    return list_targets(caller=caller, source_id=session.id, text=text, chosen=kept, limit=SESSIONS)


def _places(caller: Caller, text: str, chosen: str) -> list[tuple[str, Project]]:
    """Projects for a new session, by form value."""
    found = {f"project {row.id}": row for row in list_projects(caller=caller, text=text, limit=PROJECTS)[:PROJECTS]}
    kind, _, chosen_id = chosen.partition(" ")
    if kind == "project" and chosen not in found:
        found = {chosen: get_project(caller=caller, project_id=project_uuid(chosen_id)), **found}
    return list(found.items())


def _told(result: dict[str, Any], wanted: Transfer) -> str:
    verb = "Moved here" if wanted.choice.move else "Carried over"
    kept = " The replaced version is in the history." if result["replaced"] else ""
    return f"{verb}.{kept}" if result["carried"] else "There was nothing to transfer."


def _is_undoable(wanted: Transfer) -> bool:
    """Only a copy into a new session can be undone as a whole: elsewhere what was carried over is one with what was there."""
    return wanted.to_project is not None and not wanted.choice.move


def _undo_address(result: dict[str, Any], wanted: Transfer) -> str:
    undoable = _is_undoable(wanted) and result["carried"]
    return reverse("session_act", args=[result["to_session"], "undo-transfer"]) if undoable else ""
