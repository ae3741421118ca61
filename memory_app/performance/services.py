"""Records endpoint durations: one row per endpoint and run, compared with earlier runs."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import orjson

from memory_app.core.lease import Writer, lock_for_writing
from memory_app.models import EndpointTiming, MemoryStore, Run
from memory_app.models.performance import ENDPOINT_LENGTH, ENDPOINTS, RUNS
from memory_app.performance.histogram import LONGEST_MS, Histogram, read_histogram
from sessions_app.core.errors import Invalid
from sessions_app.core.public_names import Caller, EventType, now
from sessions_app.core.redaction import redact_text
from sessions_app.core.storage.transactions import write
from sessions_app.events import event_log
from sessions_app.projects.queries import get_project

DEGRADED_RATIO, DEGRADED_MS = 1.5, 20.0
_UPDATED = (
    "histogram", "count", "total_ms", "min_ms", "max_ms", "p50_ms", "p95_ms", "earlier_p95_ms", "degraded", "newest",
    "first_at", "last_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sample:
    endpoint: str
    duration_ms: float
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    rows: list[EndpointTiming]
    redacted: dict[str, int]


@dataclass(slots=True)
class _Measured:
    """The new samples of one endpoint."""

    histogram: Histogram
    first_at: datetime
    last_at: datetime


def record_samples(*, caller: Caller, project_id: uuid.UUID, samples: list[Sample], run_id: Writer) -> Recorded:
    """Count the samples for the run that sends them; without one, for the project's newest run."""
    measured, redacted = _by_endpoint(samples)

    def work() -> Recorded:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id)
        run = _run_number(caller, store, run_id)
        rows = _add(project_id, run, measured)
        if rows:
            forget_endpoints(project_id)
            store.rev += 1
            store.save(update_fields=["rev"])
            data = {"namespace": "performance", "key": "endpoints", "rev": store.rev, "deleted": False}
            event_log.publish(project_id=project_id, type=EventType.MEMORY_CHANGED, caller=caller, data=data)
        return Recorded(rows, redacted)

    return write(work)


def _by_endpoint(samples: list[Sample]) -> tuple[dict[str, _Measured], dict[str, int]]:
    present, redacted = now(), dict[str, int]()
    measured: dict[str, _Measured] = {}
    for number, sample in enumerate(samples):
        if not 1 <= len(sample.endpoint) <= ENDPOINT_LENGTH:
            raise _wrong(f"An endpoint has 1 to {ENDPOINT_LENGTH} characters.", number, "endpoint")
        if not 0 <= sample.duration_ms <= LONGEST_MS:
            raise _wrong(f"A duration is a number of milliseconds from 0 to {LONGEST_MS:.0f}.", number, "duration_ms")
        endpoint, found = redact_text(sample.endpoint)
        for kind, count in found.items():
            redacted[kind] = redacted.get(kind, 0) + count
        # A time in the future counts as now.
        at = min(sample.at or present, present)
        one = measured.setdefault(endpoint[:ENDPOINT_LENGTH], _Measured(Histogram(), at, at))
        one.histogram.add(sample.duration_ms)
        one.first_at, one.last_at = min(one.first_at, at), max(one.last_at, at)
    return measured, redacted


def _run_number(caller: Caller, store: MemoryStore, run_id: Writer) -> int:
    if isinstance(run_id, uuid.UUID):
        return Run.objects.values_list("number", flat=True).get(id=run_id)
    return max(1, get_project(caller=caller, project_id=store.project_id).session_count)


def _add(project_id: uuid.UUID, run: int, measured: dict[str, _Measured]) -> list[EndpointTiming]:
    """Adds the samples, in a constant number of statements."""
    there: dict[str, list[EndpointTiming]] = {endpoint: [] for endpoint in measured}
    for row in EndpointTiming.objects.filter(project_id=project_id, endpoint__in=measured):
        there[row.endpoint].append(row)
    changed = [_measure(project_id, run, endpoint, one, there[endpoint]) for endpoint, one in measured.items()]
    overtaken = EndpointTiming.objects.filter(project_id=project_id, endpoint__in=measured, run__lt=run, newest=True)
    overtaken.update(newest=False)
    EndpointTiming.objects.bulk_create(
        changed, update_conflicts=True, update_fields=_UPDATED, unique_fields=("project", "endpoint", "run")
    )
    too_many = [row.pk for rows in there.values() for row in _others(rows, run)[RUNS - 1 :]]
    EndpointTiming.objects.filter(pk__in=too_many).delete()
    return changed


def _measure(project_id: uuid.UUID, run: int, endpoint: str, measured: _Measured, there: list[EndpointTiming]) -> EndpointTiming:
    row = next((row for row in there if row.run == run), None)
    if row is None:
        earlier = _sum(row for row in there if row.run < run)
        row = EndpointTiming(
            project_id=project_id,
            endpoint=endpoint,
            run=run,
            earlier_p95_ms=earlier.percentile(95) if earlier.count else None,
            newest=all(other.run < run for other in there),
            first_at=measured.first_at,
            last_at=measured.last_at,
        )
    else:
        measured.histogram.merge(histogram_of(row))
        # Matched by its unique fields, not by its primary key.
        row.pk = None
    set_figures(row, measured.histogram)
    row.first_at, row.last_at = min(row.first_at, measured.first_at), max(row.last_at, measured.last_at)
    return row


def set_figures(row: EndpointTiming, histogram: Histogram) -> None:
    """Sets the figures from the histogram, and whether they are worse than the earlier runs."""
    row.histogram, row.count = orjson.dumps(histogram.pairs()).decode(), histogram.count
    row.total_ms, row.min_ms, row.max_ms = histogram.total_ms, histogram.min_ms, histogram.max_ms
    row.p50_ms, row.p95_ms = histogram.percentile(50), histogram.percentile(95)
    before = row.earlier_p95_ms
    row.degraded = before is not None and row.p95_ms > DEGRADED_RATIO * before and row.p95_ms - before > DEGRADED_MS


def histogram_of(row: EndpointTiming) -> Histogram:
    return read_histogram(row.histogram, total_ms=row.total_ms, min_ms=row.min_ms, max_ms=row.max_ms)


def _sum(rows: Iterable[EndpointTiming]) -> Histogram:
    total = Histogram()
    for row in rows:
        total.merge(histogram_of(row))
    return total


def _others(rows: list[EndpointTiming], run: int) -> list[EndpointTiming]:
    return sorted((row for row in rows if row.run != run), key=lambda row: -row.run)


def forget_endpoints(project_id: uuid.UUID) -> None:
    """Deletes the endpoints above the limit that are unseen for the longest."""
    newest = EndpointTiming.objects.filter(project_id=project_id, newest=True).order_by("-last_at", "endpoint")
    if too_many := list(newest.values_list("endpoint", flat=True)[ENDPOINTS:]):
        EndpointTiming.objects.filter(project_id=project_id, endpoint__in=too_many).delete()


def _wrong(why: str, number: int, field: str) -> Invalid:
    return Invalid(why, details={"field": f"samples.{number}.{field}"})
