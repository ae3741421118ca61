from django.http import HttpRequest, HttpResponse
from ninja import Router

from memory_app.core.run_header import run_of
from memory_app.performance import queries
from memory_app.performance import services as performance_services
from memory_app.performance.schemas import SamplesIn, TimingList, TimingsRecorded
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import ForeignCursor
from sessions_app.core.web.responses import RUN, json_reply, refusals, takes
from sessions_app.core.web.schemas import LIMIT
from sessions_app.projects.queries import project_uuid

router = Router(tags=["Performance"])


@router.post(
    "/{project_id}/performance",
    response={201: TimingsRecorded, **refusals(404, 410, 423)},
    operation_id="record_performance",
    openapi_extra=takes(RUN),
)
def record(request: HttpRequest, project_id: str, payload: SamplesIn) -> HttpResponse:
    """Record how long endpoints took. Samples count for the run named in `Stillhere-Run`, else for the newest one."""
    recorded = performance_services.record_samples(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        samples=[sample.as_sample() for sample in payload.samples],
        run_id=run_of(request),
    )
    items = [queries.timing_json(row) for row in recorded.rows]
    return json_reply({"items": items, "redacted": recorded.redacted}, status=201)


@router.get("/{project_id}/performance", response={200: TimingList, **refusals(404, 410)}, operation_id="list_performance")
def browse(
    request: HttpRequest,
    project_id: str,
    endpoint: str = "",
    newest: bool = False,
    degraded: bool = False,
    cursor: str = "",
    limit: int = LIMIT,
) -> HttpResponse:
    """By endpoint and run, the newest run first. `newest`: only the newest of each; `degraded`: of these only the slow ones."""
    rows = queries.list_timings(
        caller=caller_of(request),
        project_id=project_uuid(project_id),
        endpoint=endpoint,
        newest=newest,
        degraded=degraded,
        after=_read_cursor(cursor),
        limit=limit,
    )
    following = f"{rows[limit - 1].run} {rows[limit - 1].endpoint}" if len(rows) > limit else None
    return json_reply({"items": [queries.timing_json(row) for row in rows[:limit]], "next": following})


def _read_cursor(cursor: str) -> tuple[str, int] | None:
    if not cursor:
        return None
    run, _, endpoint = cursor.partition(" ")
    if not run.isascii() or not run.isdigit() or len(run) > 10:
        raise ForeignCursor
    return endpoint, int(run)
