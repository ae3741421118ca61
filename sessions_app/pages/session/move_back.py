"""The Undo of a session's move: what it must know is in the button's address."""

import uuid
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from sessions_app.chats.lifecycle.bulk.moves import NotMovedBack
from sessions_app.chats.lifecycle.bulk.services import run_steps
from sessions_app.chats.lifecycle.bulk.work import Act, Change, MadeMove, Step
from sessions_app.chats.reading.sessions import get_session
from sessions_app.core.errors import Invalid
from sessions_app.models import Caller
from sessions_app.projects.queries import project_uuid

LONGEST_NUMBER = 18


def move_back_address(session_id: uuid.UUID, undo: list[Step]) -> str:
    """The address that undoes the move of one session. Empty: nothing was moved."""
    if not undo or undo[0].change.undoes is None:
        return ""
    change, made = undo[0].change, undo[0].change.undoes
    query = {"project": str(change.to_project), "from": str(made.to), "event": str(made.event_seq)}
    query |= {"current": "1"} if session_id in change.current else {}
    query |= {"archived": made.archived[1].isoformat()} if made.archived is not None else {}
    return f"{reverse('session_act', args=[session_id, 'move-back'])}?{urlencode(query)}"


def move_back(*, caller: Caller, session_id: uuid.UUID, form: QueryDict) -> str:
    """Undoes the move that the form's address describes. Returns what was done, in words.

    Raises NotMovedBack, SessionNotFound, SessionDeleted, Invalid.
    """
    get_session(caller=caller, session_id=session_id)  # Whose it is counts before what became of the project.
    step = Step(_change(session_id, form), [session_id])
    done = run_steps(caller=caller, steps=[step])
    session = get_session(caller=caller, session_id=session_id)
    if session.project_id != step.change.to_project:
        raise NotMovedBack("the session was moved again since. The later move counts.")
    if done.superseded:
        return "Moved back. The project has another current session by now."
    return "Moved back." if done.changed else "It is back already."


def _change(session_id: uuid.UUID, form: QueryDict) -> Change:
    """Raises Invalid if the address is incomplete, as that of a page from before is."""
    event, archived = form.get("event", ""), form.get("archived")
    try:
        if not event.isdecimal() or len(event) > LONGEST_NUMBER:
            raise ValueError
        at = None if archived is None else datetime.fromisoformat(archived).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid("This form was incomplete. Move the session by its page.", details={"field": "event"}) from None
    made = MadeMove(project_uuid(form.get("from", "")), int(event), None if at is None else (session_id, at))
    current = frozenset({session_id} if form.get("current") == "1" else ())
    return Change(Act.MOVE, to_project=project_uuid(form.get("project", "")), current=current, undoes=made)
