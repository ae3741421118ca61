"""Names that other packages may use: the caller, kinds of events, statuses and limits of messages, times as the API writes them,
helpers for hand-written SQL."""

from sessions_app.core.storage.sql import db_time, db_uuid, fetch_row, rfc3339
from sessions_app.models import Caller
from sessions_app.models.event import EventType
from sessions_app.models.message import MESSAGE_ID_LENGTH, STREAMING_SECONDS, TEXT_LENGTH, Status
from sessions_app.models.project import REDACT
from sessions_app.models.times import now

__all__ = [
    "MESSAGE_ID_LENGTH",
    "REDACT",
    "STREAMING_SECONDS",
    "TEXT_LENGTH",
    "Caller",
    "EventType",
    "Status",
    "db_time",
    "db_uuid",
    "fetch_row",
    "now",
    "rfc3339",
]
