import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.core.web.schemas import LIMIT, SINCE
from sessions_app.events.event_log import missed
from sessions_app.events.schemas import EventList
from sessions_app.projects.queries import get_project, project_uuid

router = Router(tags=["Events"])


@router.get("/projects/{project_id}/events", response={200: EventList, **refusals(404, 410)}, operation_id="list_events")
def browse(
    request: HttpRequest,
    project_id: str,
    since: int = SINCE,
    limit: int = LIMIT,
) -> HttpResponse:
    """The project's log after `since`, oldest first. `resync`: events directly after `since` are no longer in the log, or `since`
    is a number that the project has not reached."""
    project = get_project(caller=caller_of(request), project_id=project_uuid(project_id))
    found, has_gap = missed(project_id=project.id, since=since, limit=limit)
    frames = [orjson.Fragment(frame) for _, frame in found]
    newest = found[-1][0] if found else project.event_seq
    # A number beyond the newest one is from before a restored backup, or another project's.
    lost = has_gap or since > newest or (not found and since < project.event_seq)
    following = newest if newest < project.event_seq else None
    return json_reply({"items": frames, "next": following, "event_seq": newest, "resync": lost})
