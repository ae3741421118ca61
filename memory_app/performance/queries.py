"""Reads of endpoint durations."""

import uuid
from datetime import datetime
from typing import Any

from django.db.models import Case, F, Max, When
from django.db.models.functions import Greatest

from memory_app.core.stored_json import as_json
from memory_app.models import EndpointTiming
from memory_app.models.performance import SHORTEST_MS
from sessions_app.core.public_names import Caller, rfc3339
from sessions_app.core.storage.text_comparison import contains
from sessions_app.projects.queries import get_project


def list_timings(
    *,
    caller: Caller,
    project_id: uuid.UUID,
    endpoint: str = "",
    newest: bool = False,
    degraded: bool = False,
    after: tuple[str, int] | None = None,
    limit: int = 50,
) -> list[EndpointTiming]:
    """By endpoint, each one's newest run first; `newest`: only that; one more than `limit` if there are more."""
    get_project(caller=caller, project_id=project_id)
    rows = EndpointTiming.objects.filter(project_id=project_id).defer("histogram")
    if endpoint:
        rows = rows.filter(endpoint=endpoint)
    if newest or degraded:
        rows = rows.filter(newest=True)
    if degraded:
        rows = rows.filter(degraded=True)
    if after is not None:
        rows = rows.filter(endpoint__gte=after[0]).exclude(endpoint=after[0], run__gte=after[1])
    return list(rows[: limit + 1])


def list_by_slowdown(
    *, caller: Caller, project_id: uuid.UUID, text: str = "", start: int = 0, limit: int
) -> list[EndpointTiming]:
    """Each endpoint's newest run, slower ones first, then by p95; one more than `limit` if there are more."""
    get_project(caller=caller, project_id=project_id)
    rows = EndpointTiming.objects.filter(contains(text, "endpoint"), project_id=project_id, newest=True).defer("histogram")
    slowdown = Case(When(degraded=True, then=F("p95_ms") / Greatest(F("earlier_p95_ms"), SHORTEST_MS)), default=0.0)
    return list(rows.order_by("-degraded", slowdown.desc(), "-p95_ms", "endpoint")[start : start + limit + 1])


def p95_by_run(*, project_id: uuid.UUID, endpoints: list[str]) -> dict[str, list[float]]:
    """The p95s of these endpoints, oldest kept run first. The caller must have checked access."""
    rows = EndpointTiming.objects.filter(project_id=project_id, endpoint__in=endpoints).order_by("run")
    found: dict[str, list[float]] = {endpoint: [] for endpoint in endpoints}
    for endpoint, p95_ms in rows.values_list("endpoint", "p95_ms"):
        found[endpoint].append(p95_ms)
    return found


def timing_json(row: EndpointTiming) -> dict[str, Any]:
    return {"endpoint": row.endpoint, **_figures(row), "newest": row.newest}


def performance_recorded_at(project_id: uuid.UUID) -> datetime | None:
    rows = EndpointTiming.objects.filter(project_id=project_id, newest=True)
    found: datetime | None = rows.aggregate(at=Max("last_at"))["at"]
    return found


def performance_of(project_id: uuid.UUID) -> dict[str, Any]:
    """The value of `performance/endpoints`: all figures, with the histograms to continue counting."""
    endpoints: dict[str, dict[str, Any]] = {}
    for row in EndpointTiming.objects.filter(project_id=project_id):
        one = endpoints.setdefault(row.endpoint, {"endpoint": row.endpoint, "degraded": row.degraded, "runs": []})
        one["runs"].append({**_figures(row), "histogram": as_json(row.histogram)})
    return {"endpoints": list(endpoints.values())}


def _figures(row: EndpointTiming) -> dict[str, Any]:
    durations = {
        "mean_ms": row.total_ms / row.count,
        "p50_ms": row.p50_ms,
        "p95_ms": row.p95_ms,
        "min_ms": row.min_ms,
        "max_ms": row.max_ms,
        "earlier_p95_ms": row.earlier_p95_ms,
    }
    return {
        "run": row.run,
        "count": row.count,
        **{name: None if value is None else round(value, 3) for name, value in durations.items()},
        "degraded": row.degraded,
        "first_at": rfc3339(row.first_at),
        "last_at": rfc3339(row.last_at),
    }
