"""Moving a whole session to another project by the API: over the version that was read, and once."""

import uuid
from dataclasses import dataclass

import orjson

from sessions_app.chats.lifecycle.bulk.services import change_sessions, lock_rows
from sessions_app.chats.lifecycle.bulk.work import Act, Change
from sessions_app.chats.reading.sessions import get_session
from sessions_app.chats.saving import receipts
from sessions_app.chats.saving.receipts import Answer, Request
from sessions_app.core.errors import NotFound
from sessions_app.core.storage.transactions import write
from sessions_app.core.web.preconditions import ANY, Conditions
from sessions_app.models import Caller
from sessions_app.projects.queries import find_project


class NoSuchPlace(NotFound):
    kind = "project"
    message = "You have no project at this path. List your projects; a key may be limited to one."


@dataclass(frozen=True, slots=True)
class Move:
    """`path`: of one of the caller's projects. `request`: identifies the move, so that a retry gets the stored answer."""

    path: str
    conditions: Conditions = ANY
    request: Request | None = None


def move_to_path(*, caller: Caller, session_id: uuid.UUID, move: Move) -> Answer:
    """Move to the project at a path: 200 with the session. It becomes the current session there only if the project has none.

    Raises NoSuchPlace, PreconditionFailed, StricterProject, ExternalIdTaken.
    """

    def work() -> Answer:
        get_session(caller=caller, session_id=session_id)
        if (answered := _answered(move)) is not None:
            return answered
        project = find_project(caller=caller, path=move.path)
        if project is None:
            raise NoSuchPlace
        lock_rows(caller, [session_id], {project.id})
        if (answered := _answered(move)) is not None:
            return answered
        move.conditions.check_etag(get_session(caller=caller, session_id=session_id).etag)
        change_sessions(caller=caller, sessions=[session_id], change=Change(Act.MOVE, to_project=project.id))
        moved = get_session(caller=caller, session_id=session_id)
        answer = Answer(200, orjson.dumps(moved.as_json()), moved.etag)
        return answer if move.request is None else receipts.keep(move.request, answer)

    return write(work)


def _answered(move: Move) -> Answer | None:
    return None if move.request is None else receipts.find(move.request)
