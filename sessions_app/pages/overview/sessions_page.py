"""`/sessions/`: the sessions of all projects, by filters that are kept in the address. The figures of the overview lead here."""

import uuid
from calendar import day_name
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.chats.lifecycle.removed_queries import count_conflicts
from sessions_app.chats.reading.session_filters import DEFAULT_SORT, Has, SessionFilter
from sessions_app.chats.reading.session_lists import list_sessions
from sessions_app.chats.reading.session_previews import Last, last_words
from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.chats.search.services import catch_up
from sessions_app.chats.sessions.list_cursors import make_place, read_place
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.core.web.page_context import newest_page, rows_asked, signed_in_caller
from sessions_app.models import ChatSession, Project
from sessions_app.models.session import MOST_TAGS, SessionState
from sessions_app.pages.session.move_targets import move_targets
from sessions_app.pages.trace.list_totals import list_totals
from sessions_app.projects.queries import get_project

A_PAGE, MOST_AT_ONCE = 30, 200
MOST_CHARACTERS = 200
STATES = {state.value: state for state in SessionState if state != SessionState.TRASH}
PINNED = {"1": True, "0": False}
HAS: dict[str, Has] = {"errors": "errors", "question": "question", "conflicts": "conflicts"}


@dataclass(frozen=True, slots=True)
class Asked:
    """The filters of an address. What makes no sense is left out."""

    project_id: uuid.UUID | None
    wanted: SessionFilter


@login_required
@require_safe
def all_sessions(request: HttpRequest) -> HttpResponse:
    caller, asked = signed_in_caller(request), _asked(request.GET)
    project = None if asked.project_id is None else get_project(caller=caller, project_id=asked.project_id)
    if project is not None and asked.wanted.text:
        catch_up()
    after = read_place(DEFAULT_SORT, request.GET.get("cursor"))
    limit = rows_asked(request, A_PAGE, MOST_AT_ONCE)
    found = list_sessions(caller=caller, project_id=asked.project_id, wanted=asked.wanted, after=after, limit=limit)
    projects = move_targets(caller, without=None)
    chosen = {name: request.GET.get(name, "") for name in ("q", "agent", "state", "has", "tag", "pinned", "since", "until")}
    context = {
        "rows": _shown(found.rows, with_project=project is None),
        "next": None if found.next is None else make_place(DEFAULT_SORT, found.next),
        "newest": newest_page(request),
        "only": project,
        "states": STATES,
        "chosen": chosen,
        "more_chosen": any(value for name, value in chosen.items() if name != "q"),
        "places": [place for place in projects if place != project],
        "projects": projects if project is None or project in projects else [project, *projects],
        "clock": _clock(asked.wanted),
        "kept": {name: value for name in ("weekday", "hour") if (value := getattr(asked.wanted, name)) is not None},
        "filtered": asked.wanted != SessionFilter(),
    }
    return render(request, "pages/overview/sessions.html", context)


def _shown(rows: list[SessionRow], *, with_project: bool) -> list[dict[str, Any]]:
    last, totals = last_words(session_ids=[row.id for row in rows]), list_totals(rows)
    names, to_settle = ChatSession.objects.names_of(rows), count_conflicts([row.id for row in rows])
    labels = _labels({row.project_id for row in rows}) if with_project else {}
    return [
        {
            "session": row,
            "name": names[row.id],
            "last": last.get(row.id, Last()),
            "to_settle": to_settle.get(row.id, 0),
            "with_project": with_project,
            "project_label": labels.get(row.project_id, row.project_path),
            "totals": totals[row.id],
        }
        for row in rows
    ]


def _labels(project_ids: set[uuid.UUID]) -> dict[uuid.UUID, str]:
    return {project.id: project.label for project in Project.objects.filter(pk__in=project_ids).only("name", "path")}


def _asked(given: QueryDict) -> Asked:
    until = _day(given.get("until", ""))
    wanted = SessionFilter(
        text=given.get("q", "").strip()[:MOST_CHARACTERS],
        agent=given.get("agent", "").strip() or None,
        state=STATES.get(given.get("state", "")),
        has=HAS.get(given.get("has", "")),
        tags=tuple(dict.fromkeys(filter(None, (tag.strip() for tag in clean_text(given.get("tag", "")).split(",")))))[:MOST_TAGS],
        pinned=PINNED.get(given.get("pinned", "")),
        weekday=_below(7, given.get("weekday", "")),
        hour=_below(24, given.get("hour", "")),
        since=_day(given.get("since", "")),
        until=None if until is None else until + timedelta(days=1, milliseconds=-1),
    )
    return Asked(uuid_or_none(given.get("project", "")), wanted)


def _below(limit: int, text: str) -> int | None:
    return int(text) if text in set(map(str, range(limit))) else None


def _clock(wanted: SessionFilter) -> str:
    """The weekday and hour that a list is limited to, in words."""
    day = "" if wanted.weekday is None else f" on a {day_name[wanted.weekday]}"
    hour = "" if wanted.hour is None else f" between {wanted.hour}:00 and {wanted.hour}:59 UTC"
    return day + hour


def _day(text: str) -> datetime | None:
    """The beginning of a day, in UTC."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return datetime(day.year, day.month, day.day, tzinfo=UTC) if 1970 <= day.year < 9999 else None
