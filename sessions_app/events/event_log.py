"""Publishes changes: a row in the project's event log in the same transaction, and a push after the commit."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import orjson
from django.db import transaction

from sessions_app.core.storage.sql import db_time, db_uuid, fetch_row, rfc3339, write_later
from sessions_app.core.storage.statement_batch import current_batch
from sessions_app.core.storage.transactions import StaleRead
from sessions_app.events import hub
from sessions_app.models import Caller, Event

_TAKE_NUMBER = "UPDATE sessions_app_project SET event_seq = event_seq + 1 WHERE id = %s RETURNING event_seq, path"
_TAKE_NUMBERS = "UPDATE sessions_app_project SET event_seq = event_seq + %s WHERE id = %s RETURNING event_seq, path"
_INSERT = "INSERT INTO sessions_app_event (project_id, event_seq, type, session_id, frame, at) VALUES (%s, %s, %s, %s, %s, %s)"


def publish(
    *,
    project_id: uuid.UUID,
    type: str,
    caller: Caller,
    session_id: uuid.UUID | None = None,
    epoch: int | None = None,
    rev: int | None = None,
    writer_id: str | None = None,
    data: dict[str, Any] | None = None,
) -> int:
    """Write the event in the caller's transaction and push it after the commit. Returns its `event_seq`.

    `type`: an EventType, or a type of the app that publishes, of up to 32 characters.

    Taking the number locks the project's row until the commit, so numbers follow commits without a gap: a client that has
    seen number n has seen, or can read, all before it. Call it last in a transaction: the lock is shared by the project.
    """
    now = datetime.now(UTC)
    event_seq, path = _next_number(db_uuid(project_id))
    frame = _frame(type, event_seq, now, path, caller, session_id, epoch, rev, writer_id, data)
    session = None if session_id is None else db_uuid(session_id)
    write_later(_INSERT, [[db_uuid(project_id), event_seq, str(type), session, frame, db_time(now)]])
    transaction.on_commit(lambda: hub.push(project_id, event_seq, frame), robust=True)
    return int(event_seq)


@dataclass(frozen=True, slots=True)
class SessionChange:
    """A session with its numbers after the change."""

    session_id: uuid.UUID
    epoch: int | None = None
    rev: int | None = None


def publish_all(
    *, project_id: uuid.UUID, type: str, caller: Caller, sessions: list[SessionChange], data: dict[str, Any] | None = None
) -> None:
    """As `publish`, one event for each session of one project, in two statements."""
    now = datetime.now(UTC)
    newest, path = _still(fetch_row(_TAKE_NUMBERS, [len(sessions), db_uuid(project_id)]))
    framed = []
    for number, one in enumerate(sessions, newest - len(sessions) + 1):
        framed.append((number, one, _frame(type, number, now, path, caller, one.session_id, one.epoch, one.rev, None, data)))
    rows = [
        [db_uuid(project_id), number, str(type), db_uuid(one.session_id), frame, db_time(now)] for number, one, frame in framed
    ]
    write_later(_INSERT, rows)
    for number, _, frame in framed:
        transaction.on_commit(partial(hub.push, project_id, number, frame), robust=True)


def _next_number(project: Any) -> Any:
    """The next number, with the project's path. A batch has locked the row already and counts in memory."""
    batch = current_batch()
    taken = batch.next_number(project) if batch is not None else None
    return taken or _still(fetch_row(_TAKE_NUMBER, [project]))


def _still(taken: Any) -> Any:
    """If the project was erased while this waited for its row, the work is run again, and finds that."""
    if taken is None:
        raise StaleRead
    return taken


def announce(
    *,
    project_id: uuid.UUID,
    path: str,
    event_seq: int,
    type: str,
    caller: Caller,
    session_id: uuid.UUID | None = None,
    epoch: int | None = None,
    rev: int | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """Push an event that is not logged (such as SESSION_RESTORED); `event_seq` is the project's newest number."""
    frame = _frame(type, event_seq, datetime.now(UTC), path, caller, session_id, epoch, rev, None, data)
    hub.push_unlogged(project_id, frame)


def missed(*, project_id: uuid.UUID, since: int, limit: int) -> tuple[list[tuple[int, str]], bool]:
    """`(event_seq, frame)` of the log after `since`, oldest first without a gap, and whether some before them are not in it."""
    rows = Event.objects.filter(project_id=project_id, event_seq__gt=since).order_by("event_seq")
    found = list(rows.values_list("event_seq", "frame")[:limit])
    # Not only the oldest ones are pruned first: their times are those of a clock that can be set, and they go in batches.
    behind_gap = [at for at, (event_seq, _) in enumerate(found) if event_seq != (found[at - 1][0] if at else since) + 1]
    return found[behind_gap[-1] if behind_gap else 0 :], bool(behind_gap)


def _frame(
    type: str,
    event_seq: int,
    at: datetime,
    path: str,
    caller: Caller,
    session_id: uuid.UUID | None,
    epoch: int | None,
    rev: int | None,
    writer_id: str | None,
    data: dict[str, Any] | None,
) -> str:
    by = {"user": caller.username, "key": caller.key_name or None, "writer_id": writer_id}
    optional = {"session": session_id, "epoch": epoch, "rev": rev, "data": data}
    return orjson.dumps(
        {
            "type": str(type),
            "event_seq": event_seq,
            "at": rfc3339(at),
            "project": path,
            "by": {name: value for name, value in by.items() if value is not None},
            **{name: value for name, value in optional.items() if value is not None},
        }
    ).decode()
