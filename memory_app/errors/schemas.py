"""Shapes of error reports."""

import uuid
from datetime import UTC, datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import Field

from memory_app.errors.occurrences import Origin
from memory_app.errors.services import NewError
from memory_app.errors.state_changes import Act, Change
from memory_app.models.error import LAST_LINE
from sessions_app.agents.states.schemas import Moment
from sessions_app.core.public_names import MESSAGE_ID_LENGTH
from sessions_app.core.web.schemas import In, Tolerant

MOST_ERRORS = 500


class FrameIn(Tolerant):
    file: str | None = None
    function: str | None = None
    line: int | None = Field(None, ge=0, le=LAST_LINE)
    own: bool | None = Field(None, description="Whether it is code of the project. Left out: by its path.")


class ErrorIn(Tolerant):
    message: str
    kind: str = Field("", description="Its type, such as `TypeError`; read from message or stack where it is left out.")
    stack: str | list[FrameIn] | None = Field(None, description="As it was printed, or a list of frames, innermost first.")
    at: Moment | None = Field(None, description="When it happened, if not just now.")
    session: uuid.UUID | None = Field(
        None, strict=False, description="The session in which it arose: the error's page links to it."
    )
    message_id: str = Field("", max_length=MESSAGE_ID_LENGTH, description="With `session`: the message in which it arose.")

    def as_new(self) -> NewError:
        stack = self.stack if self.stack is None or isinstance(self.stack, str) else [frame.model_dump() for frame in self.stack]
        at = None if self.at is None else datetime.fromisoformat(self.at)
        return NewError(self.message, self.kind, stack, at, Origin(self.session, self.message_id if self.session else ""))


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


class SimilarFixOut(Schema):
    fingerprint: str
    message: str
    known_fix: str
    by: str = Field(description="`place`: the same type in the same own function. `message`: the same type and message.")


class OccurrencesOut(Schema):
    """How often on one day (UTC) in one run; `run`: its number. `session`, `message_id`: where it arose last."""

    day: str
    run: int | None
    count: int
    last_at: str | None
    session: str | None
    message_id: str


class ErrorOut(Schema):
    """`days`: counts of the last 14 days, today last."""

    fingerprint: str
    message: str
    kind: str
    top_frame: FrameOut | None
    state: str = Field(description="unresolved, resolved or muted.")
    count: int
    first_seen: str
    last_seen: str
    resolved_at: str | None
    reopened_at: str | None = Field(description="When it was last seen again after it had been resolved.")
    muted_until: str | None = Field(description="Until then it is not counted as open.")
    known_fix: str
    similar_fix: SimilarFixOut | None = Field(description="The known fix of a similar error, where this one has none.")
    days: list[int]


class ErrorDetail(ErrorOut):
    stack: Any
    occurrences: list[OccurrencesOut] = Field(description="The newest days first, at most 100 rows.")


class ErrorResolved(ErrorDetail):
    redacted: dict[str, int]


class ErrorList(Schema):
    items: list[ErrorOut]
    next: str | None


KnownFix = Annotated[str, Field(max_length=10_000)]
Times = Annotated[int, Field(ge=1, le=2**31, description="The mute ends when it was seen so many times more.")]


class ErrorResolveIn(In):
    known_fix: KnownFix = ""


class ErrorMuteIn(In):
    """`until`, `times`, or both: what comes first ends the mute."""

    until: Moment | None = Field(None, description="At most 366 days away.")
    times: Times | None = None

    def as_change(self) -> Change:
        return Change(Act.MUTE, until=_moment(self.until), times=self.times)


class ErrorChangesIn(In):
    """`known_fix` goes with `resolve`, `until` and `times` with `mute`."""

    act: Act = Field(strict=False)
    fingerprints: list[Annotated[str, Field(max_length=128)]] = Field(min_length=1, max_length=MOST_ERRORS)
    known_fix: KnownFix = ""
    until: Moment | None = None
    times: Times | None = None

    def as_change(self) -> Change:
        return Change(self.act, self.known_fix, _moment(self.until), self.times)


class ErrorsChanged(Schema):
    """`fingerprints`: those that the project has. `unknown`: the others."""

    fingerprints: list[str]
    unknown: list[str]
    redacted: dict[str, int]


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    utc = datetime.fromisoformat(text).astimezone(UTC)
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)
