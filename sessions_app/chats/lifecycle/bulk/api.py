"""The same change of many sessions."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.chats.lifecycle.bulk.schemas import SessionChangesIn, SessionsChanged
from sessions_app.chats.lifecycle.bulk.services import change_sessions
from sessions_app.chats.lifecycle.bulk.work import Act, Change
from sessions_app.chats.lifecycle.moving.session_move import NoSuchPlace
from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.projects.queries import find_project

router = Router(tags=["Session life"])


@router.post("/sessions-bulk", response={200: SessionsChanged, **refusals(404, 409)}, operation_id="change_sessions")
def change(request: HttpRequest, payload: SessionChangesIn) -> HttpResponse:
    """Archive, pin, tag, move to a project, delete, or take that back, for up to 500 sessions in one transaction.

    It may be repeated. 409, for all of them, if an `external_id` is taken in the project to which they move, or if only that
    project removes secrets before messages are stored.
    """
    caller, target = caller_of(request), None
    if payload.to_project is not None:
        project = find_project(caller=caller, path=payload.to_project)
        if project is None:
            raise NoSuchPlace
        target = project.id
    change = Change(Act(payload.act), tuple(payload.tags), target)
    done = change_sessions(caller=caller, sessions=payload.sessions, change=change)
    return json_reply({name: [str(one) for one in getattr(done, name)] for name in ("changed", "unchanged", "unknown")})
