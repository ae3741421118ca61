"""Tells the world what changed: a row in the project's log with the change itself, a push after the commit."""

import uuid
from datetime import UTC, datetime
from typing import Any

import orjson
from django.db import transaction

from sessions_app import hub
from sessions_app.models import Caller, Event
from sessions_app.models.event import EventType
from sessions_app.models.sql import db_time, db_uuid, execute, fetch_row, rfc3339

_TAKE_NUMBER = "UPDATE sessions_app_project SET event_seq = event_seq + 1 WHERE id = %s RETURNING event_seq, path"
_INSERT = "INSERT INTO sessions_app_event (project_id, event_seq, type, session_id, frame, at) VALUES (%s, %s, %s, %s, %s, %s)"


def publish(
    *,
    project_id: uuid.UUID,
    type: EventType,
    caller: Caller,
    session_id: uuid.UUID | None = None,
    epoch: int | None = None,
    rev: int | None = None,
    writer_id: str | None = None,
    data: dict[str, Any] | None = None,
) -> int:
    """Write the event in the caller's transaction and push it after the commit. Answers its `event_seq`.

    Taking the number locks the project's row until the commit, so numbers follow commits without a gap: whoever has
    seen number n has seen, or can read, all before it. Call it last in a transaction: the lock is shared by the project.
    """
    now = datetime.now(UTC)
    event_seq, path = fetch_row(_TAKE_NUMBER, [db_uuid(project_id)])
    frame = _frame(type, event_seq, now, path, caller, session_id, epoch, rev, writer_id, data)
    session = None if session_id is None else db_uuid(session_id)
    execute(_INSERT, [db_uuid(project_id), event_seq, type.value, session, frame, db_time(now)])
    transaction.on_commit(lambda: hub.push(project_id, event_seq, frame), robust=True)
    return int(event_seq)


def announce(
    *,
    project_id: uuid.UUID,
    path: str,
    event_seq: int,
    type: EventType,
    caller: Caller,
    session_id: uuid.UUID | None = None,
    epoch: int | None = None,
    rev: int | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """Push an event that is not logged (SESSION_RESTORED and its kin); `event_seq` is the project's newest number."""
    frame = _frame(type, event_seq, datetime.now(UTC), path, caller, session_id, epoch, rev, None, data)
    hub.push_unlogged(project_id, frame)


def missed(*, project_id: uuid.UUID, since: int, limit: int) -> tuple[list[tuple[int, str]], int]:
    """`(event_seq, frame)` of the log after `since`, oldest first, and the oldest number that the log still has (0: none)."""
    rows = Event.objects.filter(project_id=project_id, event_seq__gt=since).order_by("event_seq")
    oldest = Event.objects.filter(project_id=project_id).order_by("event_seq").values_list("event_seq", flat=True).first()
    return list(rows.values_list("event_seq", "frame")[:limit]), oldest or 0


def _frame(
    type: EventType,
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
            "type": type.value,
            "event_seq": event_seq,
            "at": rfc3339(at),
            "project": path,
            "by": {name: value for name, value in by.items() if value is not None},
            **{name: value for name, value in optional.items() if value is not None},
        }
    ).decode()
