"""Going on elsewhere: a copy of a session up to one message."""

import uuid
from dataclasses import dataclass

import orjson

from sessions_app.errors import Invalid
from sessions_app.models import Caller, ChatSession, Message
from sessions_app.models.message import Removal
from sessions_app.models.session import TITLE_LENGTH
from sessions_app.queries.sessions import SessionRow, get_session
from sessions_app.services import receipts
from sessions_app.services.locking import LockedSession, lock_project_and_current, lock_session
from sessions_app.services.message_copies import copy_messages
from sessions_app.services.projects import ensure_project
from sessions_app.services.receipts import Answer, Request
from sessions_app.services.sessions import NewSession, create_in
from sessions_app.services.state_copies import copy_states
from sessions_app.services.writing import write


class UnknownMessage(Invalid):
    code, message = "unknown_message", "`up_to` names no message of this session. Read the session anew."


@dataclass(frozen=True, slots=True)
class Fork:
    """`up_to`: the last message to copy (None: all). `project`: the path of another project, made if need be.

    `request`: what makes this fork the same one when it is asked for again; without it every request makes another.
    """

    up_to: str | None = None
    project: str | None = None
    request: Request | None = None


def fork_session(*, caller: Caller, session_id: uuid.UUID, fork: Fork) -> Answer:
    """A new current session with the messages up to one; what was streaming is interrupted there. 201 with the session."""

    def work() -> Answer:
        row = get_session(caller=caller, session_id=session_id)
        if (answered := _answered(fork)) is not None:  # Before a project is made for it, which may be gone by now.
            return answered
        project_id = row.project_id if fork.project is None else ensure_project(caller=caller, path=fork.project)[0].id
        lock_project_and_current(caller=caller, project_id=project_id, also=session_id, also_project=row.project_id)
        source = lock_session(caller=caller, session_id=session_id)
        if (answered := _answered(fork)) is not None:
            return answered
        made = _fork(caller, source, project_id, fork.up_to)
        answer = Answer(201, orjson.dumps(made.as_json()), made.etag)
        return answer if fork.request is None else receipts.keep(fork.request, answer)

    return write(work)


def _answered(fork: Fork) -> Answer | None:
    return None if fork.request is None else receipts.find(fork.request)


def _fork(caller: Caller, source: LockedSession, project_id: uuid.UUID, up_to: str | None) -> SessionRow:
    original = ChatSession.objects.get(id=source.id)
    last = None
    if up_to is not None:
        rows = Message.objects.filter(session_id=source.id, epoch=source.epoch, removed=Removal.NONE)
        last = rows.filter(message_id=up_to).values_list("position", flat=True).first()
        if last is None:
            raise UnknownMessage(details={"up_to": up_to[:64]})
    title = f"{original.title} (fork)"[:TITLE_LENGTH] if original.title else ""
    new = NewSession(title, original.opening_step)
    made = create_in(caller=caller, project_id=project_id, session_id=uuid.uuid4(), new=new)
    target = lock_session(caller=caller, session_id=made.id)
    copy_messages(source, target, up_to=last)
    target.write()
    copy_states(source.id, made.id)
    return get_session(caller=caller, session_id=made.id)
