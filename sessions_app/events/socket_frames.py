"""Frames that the server creates itself; frames of changes come ready from the log."""

from datetime import UTC, datetime
from typing import Any

import orjson

from sessions_app.core.storage.sql import rfc3339
from sessions_app.models.event import EventType

ERROR = "ERROR"


def server_frame(*, type: str, event_seq: int, project: str, **more: Any) -> str:
    at = rfc3339(datetime.now(UTC))
    return orjson.dumps({"type": type, "event_seq": event_seq, "at": at, "project": project, "by": {}, **more}).decode()


def heartbeat(*, event_seq: int, project: str) -> str:
    return server_frame(type=EventType.HEARTBEAT.value, event_seq=event_seq, project=project)


def resync(*, event_seq: int, project: str) -> str:
    return server_frame(type=EventType.RESYNC.value, event_seq=event_seq, project=project)


def error(*, event_seq: int, project: str, code: str, message: str) -> str:
    return server_frame(type=ERROR, event_seq=event_seq, project=project, code=code, message=message)
