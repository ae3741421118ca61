"""When and where errors happened: counts by day and run, and the newest place in the chats of each."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import Count, F, Q

from memory_app.models import ErrorDay, ErrorReport, MemoryStore, Run
from memory_app.models.error_day import NO_RUN, RUNS_A_DAY
from sessions_app.core.public_names import rfc3339

# Of one error; there are at most thirty days of twenty-one rows.
SHOWN = 100


@dataclass(frozen=True, slots=True)
class Origin:
    """Where in the chats an error arose, as the report says."""

    session_id: uuid.UUID | None = None
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class Occurrence:
    error: ErrorReport
    at: datetime
    origin: Origin


def run_number(store: MemoryStore, run_id: Any) -> int:
    """The number of the run that writes; 0: none."""
    if not isinstance(run_id, uuid.UUID):
        return NO_RUN
    if store.holder is not None and store.holder_id == run_id:
        return store.holder.number
    found = Run.objects.filter(project_id=store.project_id, id=run_id).values_list("number", flat=True).first()
    return found or NO_RUN


def count_days(seen: list[Occurrence], run: int) -> None:
    """Adds to the counts, in three statements. The project's memory is locked, so nobody else counts meanwhile."""
    errors, days = {one.error.pk for one in seen}, {one.at.date() for one in seen}
    stored = ErrorDay.objects.filter(error__in=errors, day__in=days)
    known = {(row.error_id, row.day, row.run): row for row in stored.filter(run__in={run, NO_RUN})}
    full = _full_days(stored, run) if run != NO_RUN else set()
    for one in seen:
        place = (one.error.pk, one.at.date())
        counted_as = NO_RUN if place in full and (*place, run) not in known else run
        row = known.get((*place, counted_as))
        if row is None:
            row = ErrorDay(error=one.error, day=place[1], run=counted_as, count=0)
            known[(*place, counted_as)] = row
        _count(row, one)
    changed = [row for row in known.values() if row.count]
    ErrorDay.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["error", "day", "run"],
        update_fields=["count", "last_at", "session_id", "message_id"],
    )


def occurrences_of(error: ErrorReport) -> list[ErrorDay]:
    """The newest days first, of a day the newest times."""
    return list(ErrorDay.objects.filter(error=error).order_by("-day", F("last_at").desc(nulls_last=True), "-run")[:SHOWN])


def agents_of_runs(project_id: uuid.UUID, rows: Iterable[ErrorDay]) -> dict[int, str]:
    """The agents of the runs that are still stored, by number."""
    numbers = {row.run for row in rows} - {NO_RUN}
    return dict(Run.objects.filter(project_id=project_id, number__in=numbers).values_list("number", "agent")) if numbers else {}


def occurrence_json(row: ErrorDay) -> dict[str, Any]:
    return {
        "day": row.day.isoformat(),
        "run": row.run or None,
        "count": row.count,
        "last_at": None if row.last_at is None else rfc3339(row.last_at),
        "session": None if row.session_id is None else str(row.session_id),
        "message_id": row.message_id,
    }


def _full_days(stored: Any, run: int) -> set[tuple[uuid.UUID, date]]:
    """The days of errors that have as many runs as are told apart."""
    counted = (
        stored.exclude(run__in=(NO_RUN, run)).order_by().values("error", "day").annotate(runs=Count("pk", filter=Q(count__gt=0)))
    )
    return {(row["error"], row["day"]) for row in counted if row["runs"] >= RUNS_A_DAY}


def _count(row: ErrorDay, one: Occurrence) -> None:
    row.count += 1
    if one.origin.session_id is not None and (row.last_at is None or row.session_id is None or one.at >= row.last_at):
        row.session_id, row.message_id = one.origin.session_id, one.origin.message_id
    row.last_at = one.at if row.last_at is None else max(row.last_at, one.at)
