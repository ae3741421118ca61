"""The undo of what copied a session into a new one: of a transfer, and of a fork. As long as the new one is as it was made, it
goes to the trash."""

import uuid
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import orjson

from sessions_app.agents.transfer.fork_copying import FIRST
from sessions_app.chats.lifecycle.deletion import delete_session
from sessions_app.chats.locking import lock_project_and_current, lock_session
from sessions_app.chats.reading.sessions import get_session
from sessions_app.chats.sessions.services import update_session
from sessions_app.core.errors import Conflict
from sessions_app.core.storage.transactions import StaleRead, write
from sessions_app.models import Caller, ChatSession, Event, Message, SaveReceipt, SessionFile
from sessions_app.models.event import EventType
from sessions_app.projects.queries import get_project


class NotUndone(Conflict):
    code = "not_undone"
    message = "Not undone: the new session was changed since. It stays, with all that is in it."


type Log = list[tuple[str, str]]


def undo_transfer(*, caller: Caller, session_id: uuid.UUID) -> uuid.UUID:
    """Move the new session to the trash; the one that it displaced is the project's current session again. Returns the source.

    Raises SessionNotFound, SessionDeleted and NotUndone.
    """
    return _undo(caller, session_id, _source)


def undo_fork(*, caller: Caller, session_id: uuid.UUID) -> None:
    """As `undo_transfer`."""
    _undo(caller, session_id, _check_fork)


def _undo[T](caller: Caller, session_id: uuid.UUID, read: Callable[[uuid.UUID, Log], T]) -> T:
    """`read`: raises NotUndone if the new session's events tell of more than how it was made."""

    def work() -> T:
        row = get_session(caller=caller, session_id=session_id)
        displaced = _displaced(caller, session_id)
        # If it displaced one it is the current session, so these are all that is locked below.
        lock_project_and_current(caller=caller, project_id=row.project_id, also=displaced or session_id)
        lock_session(caller=caller, session_id=session_id)
        if _displaced(caller, session_id) != displaced:
            raise StaleRead
        result = read(session_id, _log(row.project_id, session_id))
        if SessionFile.objects.filter(session_id=session_id).exists():  # An upload has no event, and a copy begins without.
            raise NotUndone
        delete_session(caller=caller, session_id=session_id)
        if displaced is not None:
            update_session(caller=caller, session_id=displaced, fields={"current": True})
        return result

    return write(work)


def _displaced(caller: Caller, session_id: uuid.UUID) -> uuid.UUID | None:
    """The project's current session until this one was made. None: there was none, or others were chosen since."""
    made = ChatSession.objects.get(id=session_id)
    if get_project(caller=caller, project_id=made.project_id).current_session_id != session_id:
        return None
    others = ChatSession.objects.alive().filter(project_id=made.project_id, archive_requested_at=None).exclude(id=session_id)
    at_that_time = others.filter(archived_at=made.created_at).order_by("-created_at", "id")
    return at_that_time.values_list("id", flat=True).first()


def _log(project_id: uuid.UUID, session_id: uuid.UUID) -> Log:
    """Types and frames of its events since it was made, in their order. Old ones are pruned. By their numbers: the clock may have
    been set back since."""
    made_at = ChatSession.objects.values_list("created_at", flat=True).get(id=session_id)
    own = Event.objects.filter(project_id=project_id, session_id=session_id).order_by("event_seq")
    first = own.filter(at__gte=made_at, type=EventType.SESSION_CREATED).values_list("event_seq", flat=True).first()
    return [] if first is None else list(own.filter(event_seq__gte=first).values_list("type", "frame"))


def _check_fork(session_id: uuid.UUID, log: Log) -> None:
    """No fork tells of its messages, so the log has nothing but the new session. So does that of a project where it was moved
    since: it tells of a higher rev."""
    made_rev = FIRST if Message.objects.filter(session_id=session_id).exists() else 0
    if [kind for kind, _ in log] != [EventType.SESSION_CREATED] or orjson.loads(log[0][1]).get("rev") != made_rev:
        raise NotUndone


def _source(session_id: uuid.UUID, log: Log) -> uuid.UUID:
    """From where it was copied. The log must begin with the new session and end with its only transfer, and the stored answer to
    that transfer must say that it made the session: another one could have been empty before."""
    transfers = [number for number, (kind, _) in enumerate(log) if kind == EventType.AI_STATE_TRANSFERRED]
    if not log or log[0][0] != EventType.SESSION_CREATED or transfers != [len(log) - 1]:
        raise NotUndone
    told: dict[str, Any] = orjson.loads(log[-1][1])
    source = uuid.UUID(told["data"]["from"])
    if told["data"]["mode"] != "copy" or not _made_by(source, told["by"].get("writer_id", ""), session_id):
        raise NotUndone
    return source


def _made_by(source: uuid.UUID, writer_id: str, session_id: uuid.UUID) -> bool:
    answers = SaveReceipt.objects.filter(session_id=source, writer_id=writer_id, status=HTTPStatus.CREATED)
    return any(
        orjson.loads(answer.partition("\n")[2]).get("to_session") == str(session_id)
        for answer in answers.values_list("answer", flat=True)
    )
