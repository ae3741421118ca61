"""Lists of sessions: of one project, and of all of the caller's projects."""

import base64
import binascii
import uuid
from datetime import UTC, datetime

import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Query

from sessions_app.chats.reading.session_filters import DEFAULT_SORT, ORDERS, Place, SessionFilter, Sort
from sessions_app.chats.reading.session_lists import list_sessions
from sessions_app.chats.search.filters import aware
from sessions_app.chats.search.services import catch_up
from sessions_app.chats.sessions.api import router
from sessions_app.chats.sessions.schemas import ListQuery, SessionList
from sessions_app.core.callers import caller_of
from sessions_app.core.errors import ForeignCursor
from sessions_app.core.storage.sql import rfc3339
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.core.web.schemas import LIMIT, make_cursor, read_cursor
from sessions_app.projects.queries import get_project, project_uuid

FILTERS: ListQuery = Query(...)  # type: ignore[type-arg]


@router.get("/sessions", response={200: SessionList, **refusals()}, operation_id="list_all_sessions")
def browse_all(
    request: HttpRequest, filters: ListQuery = FILTERS, q: str = "", cursor: str | None = None, limit: int = LIMIT
) -> HttpResponse:
    """Your sessions in all projects. `q`: search in titles. A page may be shorter than `limit` and still have a `next`."""
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
    """The project's sessions, most recently changed first. `q`: search in titles and, from three characters on, in texts.
    `deleted`: those in the trash."""
    project = get_project(caller=caller_of(request), project_id=project_uuid(project_id))
    if q:
        catch_up()
    return _listed(request, project.id, filters, _wanted(filters, q, archived=archived, deleted=deleted), cursor, limit)


def _listed(
    request: HttpRequest, project_id: uuid.UUID | None, filters: ListQuery, wanted: SessionFilter, cursor: str | None, limit: int
) -> HttpResponse:
    after = _read_place(filters.sort, cursor)
    found = list_sessions(
        caller=caller_of(request), project_id=project_id, wanted=wanted, sort=filters.sort, after=after, limit=limit
    )
    following = None if found.next is None else _make_place(filters.sort, found.next)
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


def _make_place(sort: Sort, place: Place) -> str:
    if sort == DEFAULT_SORT:
        return make_cursor(place.value, place.id)
    return base64.urlsafe_b64encode(orjson.dumps([sort, place.value, place.id])).decode().rstrip("=")


def _read_place(sort: Sort, cursor: str | None) -> Place | None:
    """A cursor of another sort is refused: its value means something else."""
    if sort == DEFAULT_SORT:
        place = read_cursor(cursor)
        return None if place is None else Place(rfc3339(place[0]), place[1])
    if not cursor:
        return None
    try:
        said, value, row_id = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        place_id = uuid.UUID(row_id)
        if said != sort or not isinstance(value, str) or "\0" in value:
            raise ForeignCursor
        if ORDERS[sort].is_time:
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                raise ForeignCursor
            value = moment.astimezone(UTC).isoformat()
    except (ValueError, TypeError, AttributeError, OverflowError, binascii.Error):
        raise ForeignCursor from None
    return Place(value, place_id)
