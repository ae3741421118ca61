from typing import Any

from ninja import Schema
from pydantic import Field


class EventOut(Schema):
    """The same object as on the socket."""

    type: str
    event_seq: int
    at: str
    project: str
    by: dict[str, str]
    session: str | None = None
    epoch: int | None = None
    rev: int | None = None
    data: dict[str, Any] | None = None


class EventList(Schema):
    items: list[EventOut]
    next: int | None = Field(description="The `since` to continue with; null at the end.")
    event_seq: int = Field(description="The newest event number covered by this answer.")
    resync: bool = Field(description="Events between `since` and the first item are not in the log: reload.")
