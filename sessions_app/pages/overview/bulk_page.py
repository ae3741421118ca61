"""`/sessions/bulk/`: what the bar above a list of sessions does to all that are ticked, and the one Undo for it.

What takes it back is kept in the login until the next change: five hundred ids do not fit into an address.
"""

import secrets
import uuid
from base64 import b64decode, b64encode
from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from sessions_app.chats.lifecycle.bulk.moves import NotMovedBack
from sessions_app.chats.lifecycle.bulk.services import MOST_AT_ONCE, change_sessions, run_steps
from sessions_app.chats.lifecycle.bulk.work import Act, Change, Changed, MadeMove, Step
from sessions_app.core.errors import Conflict, Invalid, NotFound
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.toasts import toast_response
from sessions_app.models import Caller
from sessions_app.pages.session.move_targets import chosen_place

KEPT = "bulk_undo"
DONE = {
    Act.ARCHIVE: "archived",
    Act.UNARCHIVE: "removed from the archive",
    Act.PIN: "pinned",
    Act.UNPIN: "unpinned",
    Act.TAG: "tagged",
    Act.UNTAG: "without the tags",
    Act.MOVE: "moved, with everything in them",
    Act.DELETE: "in the trash for 30 days",
}


@login_required
@require_POST
def bulk(request: HttpRequest) -> HttpResponse:
    caller, back = signed_in_caller(request), request.POST.get("back", "")
    page = back if back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None) else reverse("sessions")
    if "undo" in request.GET:
        return _undo(request, page)
    name = request.POST.get("act", "")
    if name not in set(DONE):
        raise NotFound
    ticked = [found for text in request.POST.getlist("session")[: MOST_AT_ONCE + 1] if (found := uuid_or_none(text))]
    if not ticked:
        return toast_response(request, "No session is ticked.", page=page, failed=True)
    try:
        done = change_sessions(caller=caller, sessions=ticked, change=_change(caller, Act(name), request.POST))
    except Conflict as refused:
        return toast_response(request, refused.message, page=page, failed=True)
    said = f"{_sessions(len(done.changed))} {DONE[Act(name)]}."
    if done.unchanged:
        said += f" {_sessions(len(done.unchanged))} did not need it."
    if done.unknown:
        said += f" {_sessions(len(done.unknown))} could not be found any more."
    return toast_response(request, said, page=page, undo=_keep(request, done.undo, page))


def _change(caller: Caller, act: Act, form: QueryDict) -> Change:
    tags = tuple(dict.fromkeys(filter(None, (tag.strip() for tag in clean_text(form.get("tag", "")).split(",")))))
    if act in {Act.TAG, Act.UNTAG} and not tags:
        raise Invalid("Write the tags first, with commas between them.", details={"field": "tag"})
    if act == Act.MOVE and not form.get("project"):
        raise Invalid("Choose the project to move the sessions to.", details={"field": "project"})
    return Change(act, tags, chosen_place(caller, form.get("project", "")).id if act == Act.MOVE else None)


def _undo(request: HttpRequest, page: str) -> HttpResponse:
    kept = request.session.get(KEPT)
    if kept is None or not secrets.compare_digest(kept["token"].encode(), request.GET["undo"].encode()):
        return toast_response(request, "This was undone already, or something else was done since.", page=page, failed=True)
    try:
        done = run_steps(caller=signed_in_caller(request), steps=[_read_step(step) for step in kept["steps"]])
    except NotMovedBack as refused:  # It stays kept: the reason may go.
        return toast_response(request, refused.message, page=kept["page"], failed=True)
    del request.session[KEPT]
    return toast_response(request, _undone(done), page=kept["page"])


def _undone(done: Changed) -> str:
    said = f"Undone for {_sessions(len(done.changed))}."
    if done.superseded:
        said += f" Not the current one again, because its project has another: {_sessions(len(done.superseded))}."
    if done.unchanged:
        said += f" Left as it is, because of what was done since: {_sessions(len(done.unchanged))}."
    if done.unknown:
        said += f" {_sessions(len(done.unknown))} could not be found any more."
    return said


def _keep(request: HttpRequest, steps: list[Step], page: str) -> str:
    """The address that takes the change back."""
    if not steps:
        return ""
    token = secrets.token_urlsafe(16)
    request.session[KEPT] = {"token": token, "page": page, "steps": [_written_step(step) for step in steps]}
    return f"{reverse('bulk_sessions')}?undo={token}"


def _written_step(step: Step) -> dict[str, Any]:
    change = step.change
    return {
        "act": change.act.value,
        "tags": list(change.tags),
        "to": str(change.to_project or ""),
        "ids": _packed(step.sessions),
        "current": _packed(sorted(change.current)),
        "undoes": None if change.undoes is None else _written_move(change.undoes),
    }


def _read_step(kept: dict[str, Any]) -> Step:
    current, made = frozenset(_unpacked(kept["current"])), kept.get("undoes")  # Logins from before have none.
    undoes = None if made is None else _read_move(made)
    return Step(Change(Act(kept["act"]), tuple(kept["tags"]), uuid_or_none(kept["to"]), current, undoes), _unpacked(kept["ids"]))


def _written_move(made: MadeMove) -> dict[str, Any]:
    archived = None if made.archived is None else [str(made.archived[0]), made.archived[1].isoformat()]
    return {"to": str(made.to), "event_seq": made.event_seq, "archived": archived}


def _read_move(kept: dict[str, Any]) -> MadeMove:
    archived = kept["archived"] and (uuid.UUID(kept["archived"][0]), datetime.fromisoformat(kept["archived"][1]))
    return MadeMove(uuid.UUID(kept["to"]), kept["event_seq"], archived)


def _packed(ids: list[uuid.UUID]) -> str:
    return b64encode(b"".join(one.bytes for one in ids)).decode()


def _unpacked(text: str) -> list[uuid.UUID]:
    packed = b64decode(text)
    return [uuid.UUID(bytes=packed[at : at + 16]) for at in range(0, len(packed), 16)]


def _sessions(number: int) -> str:
    return f"{number:,} session{'' if number == 1 else 's'}"
