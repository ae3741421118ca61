"""What the buttons of the error pages do: for one error, and for all that are ticked in the list."""

import secrets
import uuid
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import Resolver404, resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from memory_app.core.lease import By
from memory_app.core.page_context import overridden
from memory_app.errors.pages import show_error
from memory_app.errors.queries import ErrorNotFound, get_error
from memory_app.errors.state_changes import (
    MOST_AT_ONCE,
    Act,
    Change,
    Changed,
    FixChanged,
    Mute,
    WrongMute,
    change_errors,
    reopen_resolved_at,
    restore_mutes,
)
from sessions_app.core.errors import Invalid, NotFound
from sessions_app.core.public_names import rfc3339
from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.toasts import toast_response

FIX_LENGTH = 10_000
FIX_CHANGED = (
    "Somebody else wrote another fix while you were writing: “{}”. Yours is still in the field: save it again on the error's page"
    " to replace theirs."
)
# In the login: how errors were muted before the newest bulk change of that.
KEPT = "errors_undo"
DONE = {
    Act.RESOLVE: "Resolved. It is reopened when it is seen again.",
    Act.REOPEN: "Open again.",
    Act.MUTE: "Muted. It is in the list of muted errors.",
    Act.UNMUTE: "No longer muted.",
}
DONE_TO_ALL = {Act.RESOLVE: "resolved", Act.REOPEN: "open again", Act.MUTE: "muted", Act.UNMUTE: "no longer muted"}
RESOLVED_BEFORE = "Saved. It was resolved already."


@login_required
@require_POST
def act(request: HttpRequest, project_id: uuid.UUID, fingerprint: str, name: str) -> HttpResponse:
    wanted, caller = _change(Act(name), request.POST), signed_in_caller(request)
    try:
        done = change_errors(caller=caller, project_id=project_id, fingerprints=[fingerprint], change=wanted, run_id=By.PERSON)
    except FixChanged:
        return _show_newer(request, project_id, fingerprint, wanted)
    if not done.fingerprints:
        raise ErrorNotFound
    said = RESOLVED_BEFORE if wanted.act == Act.RESOLVE and not done.number else DONE[wanted.act]
    undo = _undo_of_one(request, project_id, wanted.act, done)
    return toast_response(request, said + overridden(project_id), page=_back(request, project_id), undo=undo)


def _undo_of_one(request: HttpRequest, project_id: uuid.UUID, act: Act, done: Changed) -> str:
    """What was not muted before is unmuted by its own address, which stays good while others are muted."""
    if act == Act.MUTE and [mute.until for mute in done.former] == [None]:
        return reverse("unmute_error", args=[project_id, *done.fingerprints])
    return _undo(request, project_id, act, done) if act in {Act.RESOLVE, Act.MUTE} else ""


def _show_newer(request: HttpRequest, project_id: uuid.UUID, fingerprint: str, change: Change) -> HttpResponse:
    """The error with the fix of somebody else; what was written is still in the field."""
    error = get_error(caller=signed_in_caller(request), project_id=project_id, fingerprint=fingerprint)
    said = FIX_CHANGED.format(error.known_fix or "none")
    if not request.htmx:  # type: ignore[attr-defined]
        messages.error(request, said)
    # A script carries it over itself.
    typed = None if request.htmx else change.known_fix  # type: ignore[attr-defined]
    reply = show_error(request, error, typed=typed, status=FixChanged.status)
    reply["Stillhere-Message"] = quote(said)
    return reply


@login_required
@require_POST
def bulk(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """`act`, and `fingerprint` of each error that is ticked. `act=undo` with `at` reopens what one resolve resolved, with `mutes`
    mutes as before one mute or unmute."""
    caller, page = signed_in_caller(request), _back(request, project_id)
    name = request.POST.get("act") or request.GET.get("act", "")
    if name == "undo" and "mutes" in request.GET:
        return _undo_mutes(request, project_id, page)
    if name == "undo":
        number = reopen_resolved_at(caller=caller, project_id=project_id, at=_moment(request.GET.get("at", "")), run_id=By.PERSON)
        return toast_response(request, f"{_errors(number)} open again.{overridden(project_id)}", page=page)
    if name not in set(Act):
        raise NotFound
    ticked = request.POST.getlist("fingerprint")[: MOST_AT_ONCE + 1]
    if not ticked:
        return toast_response(request, "No error is ticked.", page=page, failed=True)
    wanted = Act(name)
    done = change_errors(
        caller=caller, project_id=project_id, fingerprints=ticked, change=_change(wanted, request.POST), run_id=By.PERSON
    )
    said = f"{_errors(len(done.fingerprints))} {DONE_TO_ALL[wanted]}.{overridden(project_id)}"
    return toast_response(request, said, page=page, undo=_undo(request, project_id, wanted, done))


def _undo(request: HttpRequest, project_id: uuid.UUID, act: Act, done: Changed) -> str:
    """The address that takes the change back. How errors were muted is kept in the login until the next such change."""
    asked = {"act": "undo", "at": rfc3339(done.at)} if act == Act.RESOLVE and done.number else {}
    if done.former:
        asked = {"act": "undo", "mutes": secrets.token_urlsafe(16)}
        former = [[mute.fingerprint, _text(mute.until), mute.count] for mute in done.former]
        request.session[KEPT] = {
            "token": asked["mutes"],
            "project": str(project_id),
            "until": _text(done.until),
            "former": former,
        }
    return reverse("change_errors", args=[project_id]) + f"?{urlencode(asked)}" if asked else ""


def _undo_mutes(request: HttpRequest, project_id: uuid.UUID, page: str) -> HttpResponse:
    kept, token = request.session.get(KEPT), request.GET["mutes"].encode()
    if kept is None or kept["project"] != str(project_id) or not secrets.compare_digest(kept["token"].encode(), token):
        return toast_response(request, "This was undone already, or something else was done since.", page=page, failed=True)
    number = restore_mutes(
        caller=signed_in_caller(request),
        project_id=project_id,
        former=[Mute(fingerprint, _read(until), count) for fingerprint, until, count in kept["former"]],
        until=_read(kept["until"]),
        run_id=By.PERSON,
    )
    del request.session[KEPT]
    return toast_response(request, f"Undone for {_errors(number)}.{overridden(project_id)}", page=page)


def _text(at: datetime | None) -> str:
    return "" if at is None else at.isoformat()


def _read(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _change(act: Act, form: QueryDict) -> Change:
    fix = clean_text(form.get("known_fix", "").strip())[:FIX_LENGTH]
    if act == Act.RESOLVE:
        return Change(act, fix.replace("\r\n", "\n"), seen=form.get("seen"))
    if act != Act.MUTE:
        return Change(act)
    times, until = form.get("times", "").strip(), form.get("until", "").strip()
    if times and not (times.isascii() and times.isdecimal() and len(times) < 10 and int(times)):
        raise WrongMute(details={"field": "times"})
    return Change(act, until=_day(until) if until else None, times=int(times) if times else None)


def _day(text: str) -> datetime:
    """The beginning of a day, in UTC."""
    try:
        return datetime.fromisoformat(f"{text[:10]}T00:00:00+00:00")
    except ValueError:
        raise WrongMute(details={"field": "until"}) from None


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid("This Undo cannot be read. Open the list of resolved errors.", details={"field": "at"}) from None


def _errors(number: int) -> str:
    return f"{number:,} error{'' if number == 1 else 's'}"


def _back(request: HttpRequest, project_id: uuid.UUID) -> str:
    """The list as it was filtered, if the form names it; or the page that the form was on."""
    back, page = request.POST.get("back", ""), reverse("errors", args=[project_id])
    if back.startswith(page) and url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return back
    _, _, came = request.headers.get("Referer", "").partition("://")
    path, _, query = ("/" + came.partition("/")[2]).partition("?")
    if not path.startswith(page) or not _is_page(path):
        return page
    return f"{path}?{query}" if query else path


def _is_page(path: str) -> bool:
    """Not the address of a button, which a refused form leaves in the browser."""
    try:
        return resolve(path).url_name in {"errors", "error"}
    except Resolver404:
        return False
