from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from memory_app.context.queries import find_context
from memory_app.context.schemas import ContextOut
from sessions_app.core.callers import caller_of
from sessions_app.core.public_names import Caller
from sessions_app.core.web.responses import json_reply, refusals, unchanged_since
from sessions_app.projects.queries import project_uuid

router = Router(tags=["Memory"])
# Tokens of about four bytes.
NORMAL, LEAST, MOST = 8_000, 100, 1_000_000
BUDGET: int = Query(NORMAL, ge=LEAST, le=MOST)  # type: ignore[type-arg]


@router.get(
    "/{project_id}/context", response={200: ContextOut, 304: None, **refusals(404, 410)}, operation_id="load_session_context"
)
def load(request: HttpRequest, project_id: str, budget: int = BUDGET) -> HttpResponse:
    """What a new run should know, in one response of at most `budget` tokens (4 bytes each); `omitted` links to what was cut.

    Counts, the project, the current session and `omitted` itself are always included, however small the budget is.
    """
    return context_reply(caller_of(request), project_id, budget, request.headers.get("If-None-Match", ""))


def context_reply(caller: Caller, project_id: str, budget: int, known: str) -> HttpResponse:
    """304 if the client has this version: `known` is its `If-None-Match`."""
    context = find_context(caller=caller, project_id=project_uuid(project_id))
    return unchanged_since(known, context.etag) or json_reply(context.body(budget), etag=context.etag)
