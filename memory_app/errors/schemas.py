"""Shapes of error reports."""

from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import Field

from memory_app.errors.services import NewError
from sessions_app.agents.states.schemas import Moment
from sessions_app.core.web.schemas import In, Tolerant

MOST_ERRORS = 500


class FrameIn(Tolerant):
    file: str | None = None
    function: str | None = None
    line: int | None = Field(None, ge=0, le=2**53)


class ErrorIn(Tolerant):
    message: str
    kind: str = Field("", description="Its type, such as `TypeError`; read from message or stack where it is left out.")
    stack: str | list[FrameIn] | None = Field(None, description="As it was printed, or a list of frames, innermost first.")
    at: Moment | None = Field(None, description="When it happened, if not just now.")

    def as_new(self) -> NewError:
        stack = self.stack if self.stack is None or isinstance(self.stack, str) else [frame.model_dump() for frame in self.stack]
        return NewError(self.message, self.kind, stack, None if self.at is None else datetime.fromisoformat(self.at))


class ErrorsIn(In):
    errors: list[ErrorIn] = Field(max_length=MOST_ERRORS)


class ErrorsRecorded(Schema):
    """`fingerprints`: of each error in its order; null if a noise rule filtered it."""

    recorded: int
    filtered: int
    new: int
    reopened: int
    fingerprints: list[str | None]
    redacted: dict[str, int]


class FrameOut(Schema):
    file: str
    function: str
    line: int | None


class ErrorOut(Schema):
    """`days`: counts of the last 14 days, today last."""

    fingerprint: str
    message: str
    kind: str
    top_frame: FrameOut | None
    state: str = Field(description="unresolved or resolved.")
    count: int
    first_seen: str
    last_seen: str
    resolved_at: str | None
    reopened_at: str | None = Field(description="When it was last seen again after it had been resolved.")
    known_fix: str
    days: list[int]


class ErrorDetail(ErrorOut):
    stack: Any


class ErrorResolved(ErrorDetail):
    redacted: dict[str, int]


class ErrorList(Schema):
    items: list[ErrorOut]
    next: str | None


class ErrorResolveIn(In):
    known_fix: Annotated[str, Field(max_length=10_000)] = ""
