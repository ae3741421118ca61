"""Shapes of measured durations."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field

from memory_app.models.performance import ENDPOINT_LENGTH
from memory_app.performance.histogram import LONGEST_MS
from memory_app.performance.services import Sample
from sessions_app.agents.states.schemas import Moment
from sessions_app.core.web.schemas import In

SAMPLES = 500


class SampleIn(In):
    endpoint: Annotated[str, Field(min_length=1, max_length=ENDPOINT_LENGTH)]
    duration_ms: Annotated[float, Field(ge=0, le=LONGEST_MS)]
    at: Moment | None = None

    def as_sample(self) -> Sample:
        return Sample(self.endpoint, self.duration_ms, None if self.at is None else datetime.fromisoformat(self.at))


class SamplesIn(In):
    samples: list[SampleIn] = Field(max_length=SAMPLES)


class TimingOut(Schema):
    """One endpoint in one run. p50 and p95 are at most 1 % off (below 0.1 ms: 0.1 ms)."""

    endpoint: str
    run: int
    count: int
    mean_ms: float
    p50_ms: float
    p95_ms: float
    min_ms: float
    max_ms: float
    earlier_p95_ms: float | None
    degraded: bool
    newest: bool
    first_at: str
    last_at: str


class TimingList(Schema):
    items: list[TimingOut]
    next: str | None


class TimingsRecorded(Schema):
    """`items`: the current figures of the samples' endpoints in this run."""

    items: list[TimingOut]
    redacted: dict[str, int]
