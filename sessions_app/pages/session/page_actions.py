"""Actions of a session's buttons: one form, one action, one message, with Undo if it can be undone."""

import re
import uuid
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote, urlencode

import orjson
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from sessions_app.agents.states.pending_actions import AlreadyResolved, Expired, QuestionChanged, resolve_action
from sessions_app.agents.transfer.copy_undo import NotUndone
from sessions_app.chats.lifecycle import deletion
from sessions_app.chats.lifecycle.bulk.moves import NotMovedBack
from sessions_app.chats.lifecycle.bulk.services import change_sessions
from sessions_app.chats.lifecycle.bulk.work import Act, Change
from sessions_app.chats.lifecycle.clearing import Undo, clear_session, undo_clear
from sessions_app.chats.lifecycle.restore_and_conflicts import ConflictNotFound, Keep, settle_conflict
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.chats.saving.idempotency import Step
from sessions_app.chats.saving.receipts import Answer
from sessions_app.chats.sessions import services as session_services
from sessions_app.chats.sessions.session_fields import tags_text
from sessions_app.core.errors import Conflict, Invalid, NotFound
from sessions_app.core.serialization.json_text import fingerprint
from sessions_app.core.text import same_name
from sessions_app.core.web.page_context import form_of, signed_in_caller
from sessions_app.core.web.toasts import toast_response
from sessions_app.models import Caller, ChatSession
from sessions_app.models.session import TITLE_LENGTH, UNTITLED
from sessions_app.pages.session import copies
from sessions_app.pages.session.done import Done
from sessions_app.pages.session.move_back import move_back
from sessions_app.pages.session.session_page import show_session
from sessions_app.projects.queries import get_project

DECIDED = {"approve": "Approved", "reject": "Rejected"}
NOTE_LENGTH = 2_000


def _rename(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    title = form.get("title", "").strip()
    if len(title) > TITLE_LENGTH:
        raise Invalid(f"A title has at most {TITLE_LENGTH} characters.", details={"field": "title"})
    # Forms of pages from before have no such field.
    seen = form.get("seen")
    stored = get_session(caller=caller, session_id=session_id).title
    seen = stored if seen == _as_sent(stored) else seen
    session_services.update_session(caller=caller, session_id=session_id, fields={"title": title}, if_title=seen)
    return Done("Renamed.")


def _archive(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    row = get_session(caller=caller, session_id=session_id)
    session_services.update_session(caller=caller, session_id=session_id, fields={"archived": True})
    undo = "" if row.state == "archived" else f"unarchive{'?current=1' * row.is_current}"
    return Done("Archived. It no longer resumes.", undo=undo)


def _unarchive(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    """`current`: the undo of the current session's archiving. Who became the current one since stays it: there an agent works."""
    get_session(caller=caller, session_id=session_id)
    current = frozenset({session_id} if form.get("current") == "1" else ())
    done = change_sessions(caller=caller, sessions=[session_id], change=Change(Act.UNARCHIVE, current=current))
    return Done("Removed from the archive." + " The project has another current session by now." * bool(done.superseded))


def _current(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    """`instead`, of an Undo: only while that one is the current session. An archived session would not be archived again."""
    row = get_session(caller=caller, session_id=session_id)
    former = get_project(caller=caller, project_id=row.project_id).current_session_id
    if form.get("instead", str(former)) != str(former):
        return Done("Not undone: that session is not the current one any more.", failed=True)
    session_services.update_session(caller=caller, session_id=session_id, fields={"current": True})
    undo = "" if former in {None, session_id} or row.state == "archived" else f"current?{urlencode({'instead': session_id})}"
    return Done("This is the current session now.", undo=undo, of=former)


def _chat(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    """The chat shows the project's current session."""
    page = f"{reverse('chat')}?{urlencode({'project': get_session(caller=caller, session_id=session_id).project_path})}"
    done = _current(caller, session_id, form)
    return replace(done, page=page, undo=done.undo and f"{done.undo}&{urlencode({'back': page})}")


def _clear(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    """Clears the epoch that the page shows: a second or late click clears nothing else."""
    answer = orjson.loads(_done(clear_session(caller=caller, session_id=session_id, step=_step(form))).body)
    return Done(f"Cleared: {_messages_are(answer['cleared'])} removed.", undo=f"undo-clear?epoch={answer['epoch']}")


def _undo_clear(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    answer = orjson.loads(_done(undo_clear(caller=caller, session_id=session_id, undo=_undo(form))).body)
    return Done(f"{_messages_are(answer['restored'])} restored.")


def _messages_are(number: int) -> str:
    return "1 message is" if number == 1 else f"{number:,} messages are"


def _delete(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    project = get_session(caller=caller, session_id=session_id).project_id
    deletion.delete_session(caller=caller, session_id=session_id)
    return Done("In the trash for 30 days. Saves to it are refused.", undo="undelete", page=reverse("project", args=[project]))


def _undelete(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    deletion.undelete_session(caller=caller, session_id=session_id)
    return Done("The session is restored.", page=reverse("session", args=[session_id]))


def _purge(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    title = deletion.title_of(caller=caller, session_id=session_id) or UNTITLED
    if not same_name(form.get("typed", ""), title):
        return Done(f"Nothing is erased: type “{title}” to erase it.", failed=True)
    deletion.purge_session(caller=caller, session_id=session_id)
    return Done("Erased permanently.")


def _head(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    """Shows another branch, to its end. The page is at its first message: the former address may name one of another branch."""
    fields = {"head": (head := form.get("head", "")), "to_end": True}
    session_services.update_session(caller=caller, session_id=session_id, fields=fields)
    return Done("Another version is shown.", page=f"{reverse('session', args=[session_id])}?{urlencode({'at': head})}")


def _settle(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    try:
        copy_id, keep = uuid.UUID(form.get("copy", "")), Keep(form.get("keep", ""))
    except ValueError:
        raise NotFound from None
    try:
        settle_conflict(caller=caller, session_id=session_id, copy_id=copy_id, keep=keep)
    except ConflictNotFound:
        return Done("This was settled already, here or elsewhere. Nothing was changed.", failed=True)
    return Done("Settled.")


def _resolve(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    decision, note = form.get("decision", ""), form.get("note", "").strip()
    if decision not in DECIDED or len(note) > NOTE_LENGTH:
        raise Invalid(f"Approve or reject, with a note of at most {NOTE_LENGTH:,} characters.", details={"field": "decision"})
    # Forms of pages from before do not say which question they showed.
    action_id, seen = form.get("action", ""), form.get("asked")
    try:
        resolve_action(caller=caller, session_id=session_id, action_id=action_id, decision=decision, note=note, seen=seen)
    except AlreadyResolved as error:
        first = error.details["resolution"]
        return Done(f"{first['by']} already answered: {DECIDED[first['decision']].lower()}. That answer counts.", failed=True)
    except (Expired, QuestionChanged) as error:
        return Done(error.message, failed=True)
    return Done(f"{DECIDED[decision]}. The agent can read your answer.")


def _move_back(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    """Undoes a move; `move_page.py` has the dialog for moving."""
    return Done(move_back(caller=caller, session_id=session_id, form=form))


def _pin(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    was = get_session(caller=caller, session_id=session_id).pinned
    session_services.update_session(caller=caller, session_id=session_id, fields={"pinned": True})
    return Done("Pinned: it comes first in the project's list.", undo="" if was else "unpin")


def _unpin(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    was = get_session(caller=caller, session_id=session_id).pinned
    session_services.update_session(caller=caller, session_id=session_id, fields={"pinned": False})
    return Done("Unpinned.", undo="pin" if was else "")


def _tag(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    """Several tags can be typed with commas between them. Those that it has stay where they are."""
    typed = [tag.strip() for tag in form.get("tag", "").split(",")]

    def with_typed(row: SessionRow) -> str | None:
        return tags_text(list(dict.fromkeys([*row.tag_list, *filter(None, typed)])))

    session_services.update_session(caller=caller, session_id=session_id, fields={"tags": with_typed})
    return Done("Tagged.")


def _untag(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    gone = form.get("tag", "")

    def without_it(row: SessionRow) -> str | None:
        return tags_text([tag for tag in row.tag_list if gone not in {tag, _as_sent(tag)}])

    session_services.update_session(caller=caller, session_id=session_id, fields={"tags": without_it})
    # Others would be read as several tags, or as another one.
    as_typed = gone == gone.strip() and not set(gone) & set(",\r\n")
    return Done("The tag is removed.", undo=f"tag?{urlencode({'tag': gone})}" if as_typed else "")


def _as_sent(text: str) -> str:
    """A form has other line ends than what was stored by the API."""
    return "\r\n".join(re.split(r"\r\n|\r|\n", text))


ACTS: dict[str, Callable[[Caller, uuid.UUID, QueryDict], Done]] = {
    "rename": _rename,
    "archive": _archive,
    "unarchive": _unarchive,
    "current": _current,
    "chat": _chat,
    "pin": _pin,
    "unpin": _unpin,
    "tag": _tag,
    "untag": _untag,
    "clear": _clear,
    "undo-clear": _undo_clear,
    "delete": _delete,
    "undelete": _undelete,
    "purge": _purge,
    "fork": copies.fork,
    "undo-fork": copies.take_fork_back,
    "settle": _settle,
    "head": _head,
    "move-back": _move_back,
    "undo-transfer": copies.take_transfer_back,
    "resolve": _resolve,
}


@login_required
@require_POST
def act(request: HttpRequest, session_id: uuid.UUID, name: str) -> HttpResponse:
    if name not in ACTS:
        raise NotFound
    form = form_of(request.GET, request.POST)
    try:
        done = ACTS[name](signed_in_caller(request), session_id, form)
    except session_services.TitleChanged as problem:
        return _show_newer(request, session_id, problem.message)
    except (NotMovedBack, NotUndone) as refused:
        done = Done(refused.message, failed=True)
    back = _back(form)
    page = back or done.page or _own_page(request, session_id)
    undo = _undo_address(done.of or session_id, done.undo, back)
    return toast_response(request, done.message, page=page, undo=undo, failed=done.failed)


def _back(form: QueryDict) -> str:
    """The page that the form names, if it is one of ours."""
    back = form.get("back", "")
    return back if back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None) else ""


def _undo_address(session_id: uuid.UUID, undo: str, back: str) -> str:
    """It comes back to the same page. Empty: there is no undo."""
    name, _, query = undo.partition("?")
    queries = [query] * bool(query) + [urlencode({"back": back})] * bool(back)
    return reverse("session_act", args=[session_id, name]) + "?" * bool(queries) + "&".join(queries) if name else ""


def _show_newer(request: HttpRequest, session_id: uuid.UUID, said: str) -> HttpResponse:
    """Somebody else's title, and in the field (by a script if there is one) what was typed: the next click replaces it."""
    if not request.htmx:  # type: ignore[attr-defined]
        messages.error(request, said)
        typed = {"typed": request.POST.get("title", ""), "back": _back(request.POST)}
        return show_session(request, session_id, typed, status=session_services.TitleChanged.status)
    session = get_session(caller=signed_in_caller(request), session_id=session_id)
    context = {"session": session, "name": ChatSession.objects.name_of(session)}
    reply = render(request, "pages/session/_title.html", context, status=session_services.TitleChanged.status)
    reply["Stillhere-Message"] = quote(said)
    return reply


def _own_page(request: HttpRequest, session_id: uuid.UUID) -> str:
    """The session's page, at the place where the form was sent."""
    own = reverse("session", args=[session_id])
    came, _, query = request.headers.get("Referer", "").partition("?")
    return f"{own}?{query}" if query and came.endswith(own) else own


def _step(form: QueryDict) -> Step:
    epoch = form.get("epoch", "")
    if not epoch.isdecimal() or len(epoch) > 18:
        raise Invalid("This form was incomplete. Reload the page.", details={"field": "epoch"})
    return Step(epoch=int(epoch), writer_id=str(uuid.uuid4()), seq=1, body_sha256=fingerprint({"epoch": epoch}))


def _undo(form: QueryDict) -> Undo:
    """`of` names the clear that is undone; left out, it is the last one."""
    step, of = _step(form), form.get("of", "")
    cleared = int(of) if of.isdecimal() and len(of) <= 18 else None
    return Undo(epoch=step.epoch, writer_id=step.writer_id, seq=step.seq, body_sha256=step.body_sha256, of=cleared)


def _done(answer: Answer) -> Answer:
    if answer.status == Conflict.status:
        raise Conflict("The session was cleared since this page was loaded. Reload the page.", code="stale_epoch")
    return answer
