"""Actions that copy a session into a new one, and their undo."""

import uuid
from urllib.parse import urlencode

import orjson
from django.http import QueryDict
from django.urls import reverse

from sessions_app.agents.transfer.copy_undo import undo_fork, undo_transfer
from sessions_app.agents.transfer.forking import Fork, fork_session
from sessions_app.models import Caller
from sessions_app.pages.session.done import Done

UNDONE = "Undone: the new session is in the trash for 30 days."


def fork(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    made = fork_session(caller=caller, session_id=session_id, fork=Fork(form.get("up_to") or None))
    fork_id = uuid.UUID(orjson.loads(made.body)["id"])
    undo = f"undo-fork?{urlencode({'from': session_id})}"
    return Done("Forked: this copy is now the current session.", undo=undo, page=reverse("session", args=[fork_id]), of=fork_id)


def take_fork_back(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    """Leads to the session from which it was forked, as the address has it."""
    undo_fork(caller=caller, session_id=session_id)
    return Done(UNDONE, undo="undelete", page=_page_of(form.get("from", "")))


def take_transfer_back(caller: Caller, session_id: uuid.UUID, form: QueryDict) -> Done:
    """`agents/transfer/pages.py` has the dialog for transfers."""
    source = undo_transfer(caller=caller, session_id=session_id)
    return Done(UNDONE, undo="undelete", page=reverse("session", args=[source]))


def _page_of(session_id: str) -> str:
    try:
        return reverse("session", args=[uuid.UUID(session_id)])
    except ValueError:
        return reverse("home")
