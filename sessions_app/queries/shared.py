"""What other contexts may know of our rows: who calls, kinds of events, times as the API writes them,
what hand-written SQL needs."""

from sessions_app.models import Caller
from sessions_app.models.event import EventType
from sessions_app.models.sql import db_time, db_uuid, fetch_row, now, rfc3339

__all__ = ["Caller", "EventType", "db_time", "db_uuid", "fetch_row", "now", "rfc3339"]
