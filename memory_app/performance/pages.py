"""Pages of endpoint durations, compared with earlier runs; slower ones first."""

import uuid
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from memory_app.core.page_context import page
from memory_app.models import EndpointTiming
from memory_app.performance.queries import list_by_slowdown, p95_by_run
from sessions_app.core.text import count
from sessions_app.core.web.page_context import number_asked, rows_asked, signed_in_caller

A_PAGE, MOST_AT_ONCE = 30, 500
MOST_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Shown:
    """`scale`: the milliseconds of a full bar; `change`: per cent compared with the earlier runs."""

    timing: EndpointTiming
    scale: float
    change: int | None
    history: list[float]

    @property
    def told(self) -> str:
        """The change as text, with a typographic minus sign."""
        if self.change is None:
            return "first run"
        return f"{'+' if self.change > 0 else '−'}{count(abs(self.change))} %" if self.change else "as before"


@login_required
@require_safe
def performance(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    text = request.GET.get("q", "").strip()[:MOST_CHARACTERS]
    start, limit = number_asked(request, "from", 0, 0, MOST_AT_ONCE), rows_asked(request, A_PAGE, MOST_AT_ONCE)
    found = list_by_slowdown(caller=signed_in_caller(request), project_id=project_id, text=text, start=start, limit=limit)
    rows = found[:limit]
    history = p95_by_run(project_id=project_id, endpoints=[row.endpoint for row in rows])
    known = {
        "rows": [_shown(row, history[row.endpoint]) for row in rows],
        "next": start + limit if len(found) > limit else None,
        "text": text,
    }
    return page(request, project_id, "performance/list", known, tab="performance")


def _shown(row: EndpointTiming, history: list[float]) -> Shown:
    scale = max(row.p95_ms, row.p50_ms, row.earlier_p95_ms or 0) * 1.08
    change = None if row.slowdown is None else round(100 * (row.slowdown - 1))
    return Shown(row, scale, change, history)
