"""Reading errors."""

import uuid
from datetime import date, datetime, timedelta
from typing import Any

import orjson
from django.db.models import Count, Func, IntegerField, Q
from django.db.models.lookups import GreaterThan

from memory_app.core.stored_json import as_json
from memory_app.errors.known_fixes import similar_fixes
from memory_app.errors.occurrences import occurrence_json, occurrences_of
from memory_app.models import ErrorReport, MemoryStore
from memory_app.models.error import KEPT_FOR, ErrorQuerySet
from sessions_app.core.errors import NotFound
from sessions_app.core.public_names import Caller, now, rfc3339
from sessions_app.core.storage.text_comparison import contains
from sessions_app.projects.queries import get_project

SHOWN_DAYS = 14
# More than null, an empty text or an empty list. Its size is known without reading it.
_HAS_STACK = GreaterThan(Func("stack", function="octet_length", output_field=IntegerField()), len("null"))
STATES = ("", "unresolved", "resolved", "muted")


def list_errors(
    *,
    caller: Caller,
    project_id: uuid.UUID,
    state: str = "",
    text: str = "",
    after: tuple[datetime, uuid.UUID] | None = None,
    limit: int,
) -> list[ErrorReport]:
    """Last seen first, without stacks (`has_stack`: whether there is one); one more than `limit` if there are more. Muted ones
    are only in their own list."""
    get_project(caller=caller, project_id=project_id)
    rows = _in_state(state).filter(project_id=project_id).defer("stack").annotate(has_stack=_HAS_STACK)
    if text:
        rows = rows.filter(contains(text, "message", "kind", "file"))
    if after is not None:
        rows = rows.filter(last_seen__lte=after[0]).exclude(last_seen=after[0], id__lte=after[1])
    return list(rows.order_by("-last_seen", "id")[: limit + 1])


def _in_state(state: str) -> ErrorQuerySet:
    at = now()
    kept = ErrorReport.objects.kept_at(at)
    if state == "unresolved":
        return kept.open_at(at)
    if state == "resolved":
        return kept.exclude(resolved_at=None)
    return kept.muted_at(at) if state == "muted" else kept.exclude(resolved_at=None, muted_until__gt=at)


def count_open_errors(project_ids: list[uuid.UUID]) -> dict[uuid.UUID, int]:
    """The count per project, for projects that have any. The caller must have checked access."""
    at = now()
    rows = ErrorReport.objects.kept_at(at).open_at(at).filter(project_id__in=project_ids).order_by()
    return dict(rows.values("project_id").annotate(count=Count("*")).values_list("project_id", "count"))


def count_opened(project_ids: list[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Errors first seen in the last 30 days, as `count_open_errors`."""
    rows = ErrorReport.objects.filter(project_id__in=project_ids, first_seen__gt=now() - KEPT_FOR).order_by()
    return dict(rows.values("project_id").annotate(count=Count("*")).values_list("project_id", "count"))


def count_fixed(project_ids: list[uuid.UUID]) -> dict[uuid.UUID, int]:
    """Errors resolved in the last 30 days, as `count_open_errors`."""
    rows = ErrorReport.objects.filter(project_id__in=project_ids, resolved_at__gt=now() - KEPT_FOR).order_by()
    return dict(rows.values("project_id").annotate(count=Count("*")).values_list("project_id", "count"))


def count_by_state(*, project_id: uuid.UUID) -> dict[str, int]:
    """The caller must have checked access. `all`: without muted ones."""
    at = now()
    resolved = Count("id", filter=~Q(resolved_at=None))
    muted = Count("id", filter=Q(resolved_at=None, muted_until__gt=at))
    rows = ErrorReport.objects.kept_at(at).filter(project_id=project_id)
    counted: dict[str, int] = rows.aggregate(stored=Count("id"), resolved=resolved, muted=muted)
    shown = counted["stored"] - counted["muted"]
    return counted | {"all": shown, "unresolved": shown - counted["resolved"]}


class ErrorNotFound(NotFound):
    kind = "error"
    message = "This project has no error with this fingerprint; one that was not seen for 30 days is gone. List the errors."


def get_error(*, caller: Caller, project_id: uuid.UUID, fingerprint: str) -> ErrorReport:
    get_project(caller=caller, project_id=project_id)
    found = ErrorReport.objects.kept_at(now()).filter(project_id=project_id, fingerprint=fingerprint).first()
    if found is None:
        raise ErrorNotFound
    return found


def error_json(error: ErrorReport) -> dict[str, Any]:
    """The error without its stack; `days`: counts of the last 14 days, today last."""
    return {**_summary(error), "days": daily_counts(error, today=now().date())}


def errors_json(project_id: uuid.UUID, errors: list[ErrorReport]) -> list[dict[str, Any]]:
    """As `error_json`, each with the known fix of a similar error."""
    fixes = similar_fixes(project_id, errors)
    return [{**error_json(error), "similar_fix": fixes[error.pk].as_json() if error.pk in fixes else None} for error in errors]


def error_detail(error: ErrorReport) -> dict[str, Any]:
    """With its stack, its occurrences, and where in the chats it arose last."""
    [shown] = errors_json(error.project_id, [error])
    occurrences = [occurrence_json(row) for row in occurrences_of(error)]
    return {**shown, "stack": as_json(error.stack), "occurrences": occurrences}


def daily_counts(error: ErrorReport, *, today: date) -> list[int]:
    """How often it was seen on each of the last 14 days, today last."""
    counts = read_days(error)
    days = (today - timedelta(days=ago) for ago in range(SHOWN_DAYS - 1, -1, -1))
    return [counts.get(day.isoformat(), 0) for day in days]


def read_days(error: ErrorReport) -> dict[str, int]:
    """Counts by day; empty for a damaged row."""
    try:
        counts = orjson.loads(error.days)
    except orjson.JSONDecodeError:
        return {}
    return counts if isinstance(counts, dict) else {}


def errors_recorded_at(project_id: uuid.UUID) -> datetime | None:
    """When the project's errors changed last; None if there never were any."""
    return MemoryStore.objects.filter(pk=project_id).values_list("errors_changed_at", flat=True).first()


def error_history(project_id: uuid.UUID) -> dict[str, Any]:
    """The value of the generated key `errors/history`."""
    rows = ErrorReport.objects.kept_at(now()).filter(project_id=project_id).defer("stack")
    return {"errors": [{**_summary(row), "days": as_json(row.days)} for row in rows.order_by("-last_seen", "id")]}


def _summary(error: ErrorReport) -> dict[str, Any]:
    is_known = error.file or error.function
    return {
        "fingerprint": error.fingerprint,
        "message": error.message,
        "kind": error.kind,
        "top_frame": {"file": error.file, "function": error.function, "line": error.line} if is_known else None,
        "state": state_of(error),
        "count": error.count,
        "first_seen": rfc3339(error.first_seen),
        "last_seen": rfc3339(error.last_seen),
        "resolved_at": None if error.resolved_at is None else rfc3339(error.resolved_at),
        "reopened_at": None if error.reopened_at is None else rfc3339(error.reopened_at),
        "muted_until": rfc3339(error.muted_until) if error.muted_until is not None and error.is_muted(now()) else None,
        "known_fix": error.known_fix,
    }


def state_of(error: ErrorReport) -> str:
    if error.resolved_at is not None:
        return "resolved"
    return "muted" if error.is_muted(now()) else "unresolved"
