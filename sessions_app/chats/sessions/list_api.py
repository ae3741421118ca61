"""Lists of sessions: of one project, and of all of the caller's projects."""

import uuid

from django.http import HttpRequest, HttpResponse
from ninja import Query

from sessions_app.chats.reading.session_filters import SessionFilter
from sessions_app.chats.reading.session_lists import list_sessions
from sessions_app.chats.search.filters import aware
from sessions_app.chats.search.services import catch_up
from sessions_app.chats.sessions.api import router
from sessions_app.chats.sessions.list_cursors import make_place, read_place
from sessions_app.chats.sessions.schemas import ListQuery, SessionList
from sessions_app.core.callers import caller_of
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.core.web.schemas import LIMIT
from sessions_app.projects.queries import get_project, project_uuid

FILTERS: ListQuery = Query(...)  # type: ignore[type-arg]


@router.get("/sessions", response={200: SessionList, **refusals()}, operation_id="list_all_sessions")
def browse_all(
    request: HttpRequest, filters: ListQuery = FILTERS, q: str = "", cursor: str | None = None, limit: int = LIMIT
) -> HttpResponse:
    """Your sessions in all projects. `q`: search in titles, and for a whole `external_id`. A page may be shorter than `limit`
    and still have a `next`."""
    return _listed(request, None, filters, _wanted(filters, q), cursor, limit)


@router.get("/projects/{project_id}/sessions", response={200: SessionList, **refusals(404, 410)}, operation_id="list_sessions")
def browse(
    request: HttpRequest,
    project_id: str,
    filters: ListQuery = FILTERS,
    q: str = "",
    archived: bool | None = None,
    deleted: bool = False,
    cursor: str | None = None,
    limit: int = LIMIT,
) -> HttpResponse:
    """The project's sessions, most recently changed first. `q`: search in titles and, from three characters on, in texts,
    and for a whole `external_id`. `deleted`: those in the trash."""
    project = get_project(caller=caller_of(request), project_id=project_uuid(project_id))
    if q:
        catch_up()
    return _listed(request, project.id, filters, _wanted(filters, q, archived=archived, deleted=deleted), cursor, limit)


def _listed(
    request: HttpRequest, project_id: uuid.UUID | None, filters: ListQuery, wanted: SessionFilter, cursor: str | None, limit: int
) -> HttpResponse:
    after = read_place(filters.sort, cursor)
    found = list_sessions(
        caller=caller_of(request), project_id=project_id, wanted=wanted, sort=filters.sort, after=after, limit=limit
    )
    following = None if found.next is None else make_place(filters.sort, found.next)
    return json_reply({"items": [row.as_json() for row in found.rows], "next": following})


def _wanted(filters: ListQuery, text: str, *, archived: bool | None = None, deleted: bool = False) -> SessionFilter:
    return SessionFilter(
        text=text,
        external_id=filters.external_id,
        tags=tuple(dict.fromkeys(filters.tag)),
        agent=filters.agent,
        state=filters.state,
        archived=archived,
        deleted=deleted,
        pinned=filters.pinned,
        since=aware(filters.since),
        until=aware(filters.until),
        has=filters.has,
    )
