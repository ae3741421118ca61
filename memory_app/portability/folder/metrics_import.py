"""Imports what another memory recorded: errors and durations. Existing ones are not changed."""

import re
import uuid
from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from memory_app.core.lease import lock_for_writing
from memory_app.errors.services import CheckedError, NewError, check_error, see, touch
from memory_app.models import EndpointTiming, ErrorReport, MemoryStore
from memory_app.models.error import FINGERPRINT_LENGTH, KEPT, KEPT_FOR, LAST_LINE
from memory_app.models.performance import ENDPOINT_LENGTH, RUNS
from memory_app.performance.histogram import LONGEST_MS, Histogram, read_pairs
from memory_app.performance.services import forget_endpoints, set_figures
from memory_app.portability.folder.folder_format import Skipped, as_moment
from sessions_app.core.public_names import Caller, EventType, now
from sessions_app.core.redaction import redact_text
from sessions_app.core.serialization.json_text import json_text
from sessions_app.events import event_log
from sessions_app.projects.services import raise_run_count

_FINGERPRINT = re.compile(rf"[0-9a-f]{{{FINGERPRINT_LENGTH}}}")
_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class KnownError:
    error: CheckedError
    fingerprint: str
    count: int
    first_seen: datetime
    resolved_at: datetime | None
    known_fix: str
    # Counts by day, if given.
    days: dict[str, int]


def check_errors(value: Any, place: str, skipped: Skipped) -> list[KnownError]:
    """`{"errors": […]}`, or the list alone as another tool writes it, which has a fingerprint and no message."""
    items = value.get("errors") if isinstance(value, dict) else value
    if not isinstance(items, list):
        skipped.add(place, "it is not a list of errors")
        return []
    found: dict[str, KnownError] = {}
    for number, item in enumerate(items):
        try:
            known = _known_error(item)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            skipped.add(f"{place}: no. {number + 1}", "it is not an error in this format")
            continue
        if known.error.at <= now() - KEPT_FOR:
            skipped.add(f"{place}: no. {number + 1}", f"it was not seen for {KEPT_FOR.days} days")
        else:
            found.setdefault(known.fingerprint, known)
    return list(found.values())


def _known_error(item: dict[str, Any]) -> KnownError:
    first, last = as_moment(item["first_seen"]), as_moment(item["last_seen"])
    message, count, frame = item.get("message", item.get("fingerprint")), item["count"], item.get("top_frame")
    if first is None or last is None or not isinstance(message, str) or type(count) is not int or not 0 < count <= _MOST:
        raise ValueError
    kind, stack = str(item.get("kind", "")), None
    if isinstance(frame, dict):
        line = frame.get("line")
        is_line = type(line) is int and 0 <= line <= LAST_LINE
        stack = [{"file": str(frame["file"]), "function": str(frame["function"]), "line": line if is_line else None}]
    error = check_error(NewError(message, kind, stack, last))
    told, resolved_at = str(item.get("fingerprint")), as_moment(item.get("resolved_at"))
    if item.get("resolved") is True:
        resolved_at = resolved_at or last
    return KnownError(
        error=error,
        fingerprint=told if _FINGERPRINT.fullmatch(told) else error.identity.fingerprint,
        count=count,
        first_seen=min(first, error.at),
        resolved_at=resolved_at,
        known_fix=redact_text(str(item.get("known_fix") or ""))[0],
        days=_days(item.get("days")),
    )


def _days(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    return {
        date.fromisoformat(day).isoformat(): count for day, count in value.items() if type(count) is int and 0 < count <= _MOST
    }


def add_errors(*, caller: Caller, project_id: uuid.UUID, errors: list[KnownError]) -> int:
    """Returns how many are new. Runs in the caller's transaction."""
    store = lock_for_writing(caller=caller, project_id=project_id, run_id=None)
    mine = ErrorReport.objects.filter(project_id=project_id)
    there = set(mine.values_list("fingerprint", flat=True))
    rows = [_report(project_id, known) for known in errors if known.fingerprint not in there]
    ErrorReport.objects.bulk_create(rows)
    too_many = list(mine.order_by("-last_seen", "id").values_list("pk", flat=True)[KEPT:])
    mine.filter(pk__in=too_many).delete()
    if rows:
        touch(store)
        _tell(caller, store, "errors", "history")
    return len(rows)


def _report(project_id: uuid.UUID, known: KnownError) -> ErrorReport:
    at = known.error.at
    row = ErrorReport(project_id=project_id, fingerprint=known.fingerprint, count=0, first_seen=at, last_seen=at)
    see(row, known.error)
    row.count, row.first_seen = known.count, known.first_seen
    row.resolved_at, row.known_fix = known.resolved_at, known.known_fix
    row.days = json_text(known.days) if known.days else row.days
    return row


def check_timings(value: Any, place: str, skipped: Skipped) -> tuple[list[EndpointTiming], Counter[str]]:
    """Timings in the format of `performance/endpoints`; another tool's format under that name is skipped."""
    endpoints = value.get("endpoints") if isinstance(value, dict) else None
    found: dict[tuple[str, int], EndpointTiming] = {}
    redacted: Counter[str] = Counter()
    if not isinstance(endpoints, list):
        skipped.add(place, "it is not a list of endpoints")
        return [], redacted
    for number, item in enumerate(endpoints):
        try:
            name, taken_out = redact_text(item["endpoint"])
            if not 1 <= len(name) <= ENDPOINT_LENGTH:
                raise ValueError
            rows = [_timing(name, run) for run in item["runs"]]
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            skipped.add(f"{place}: no. {number + 1}", "it is not an endpoint in this format")
            continue
        redacted.update(taken_out)
        found |= {(row.endpoint, row.run): row for row in rows}
    return list(found.values()), redacted


def _timing(endpoint: str, item: dict[str, Any]) -> EndpointTiming:
    buckets, run, before = read_pairs(item["histogram"]), item["run"], item["earlier_p95_ms"]
    mean, least, most = (float(item[name]) for name in ("mean_ms", "min_ms", "max_ms"))
    first, last = as_moment(item["first_at"]), as_moment(item["last_at"])
    if first is None or last is None or type(run) is not int or not 0 < run <= _MOST:
        raise ValueError
    if not all(0 <= duration <= LONGEST_MS for duration in (mean, least, most, before or 0)):
        raise ValueError
    row = EndpointTiming(
        endpoint=endpoint, run=run, earlier_p95_ms=before, newest=False, first_at=first, last_at=min(last, now())
    )
    set_figures(row, Histogram(buckets, mean * buckets.total(), least, most))
    return row


def add_timings(*, caller: Caller, project_id: uuid.UUID, timings: list[EndpointTiming]) -> int:
    """Returns how many are new. Runs in the caller's transaction."""
    store = lock_for_writing(caller=caller, project_id=project_id, run_id=None)
    mine = EndpointTiming.objects.filter(project_id=project_id)
    there = set(mine.values_list("endpoint", "run"))
    new = [row for row in timings if (row.endpoint, row.run) not in there]
    if not new:
        return 0
    for row in new:
        row.project_id = project_id
    EndpointTiming.objects.bulk_create(new)
    _put_in_order(project_id)
    forget_endpoints(project_id)
    raise_run_count(project_id=project_id, count=max(row.run for row in new))
    store.rev += 1
    store.save(update_fields=["rev"])
    _tell(caller, store, "performance", "endpoints")
    return len(new)


def _put_in_order(project_id: uuid.UUID) -> None:
    """Marks each endpoint's newest run, and keeps only the allowed number."""
    by_endpoint: dict[str, list[int]] = {}
    rows = EndpointTiming.objects.filter(project_id=project_id)
    for endpoint, pk in rows.order_by("endpoint", "-run").values_list("endpoint", "pk"):
        by_endpoint.setdefault(endpoint, []).append(pk)
    rows.update(newest=False)
    rows.filter(pk__in=[pks[0] for pks in by_endpoint.values()]).update(newest=True)
    rows.filter(pk__in=[pk for pks in by_endpoint.values() for pk in pks[RUNS:]]).delete()


def _tell(caller: Caller, store: MemoryStore, namespace: str, key: str) -> None:
    data = {"namespace": namespace, "key": key, "rev": store.rev, "deleted": False}
    event_log.publish(project_id=store.project_id, type=EventType.MEMORY_CHANGED, caller=caller, data=data)
