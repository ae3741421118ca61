"""A project's error pages: the list, and one page per error with its stack and its fix."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from memory_app.core.page_context import page
from memory_app.errors import queries
from memory_app.errors.known_fixes import SimilarFix, similar_fixes
from memory_app.errors.noise.queries import list_rules
from memory_app.errors.occurrences import agents_of_runs, occurrences_of
from memory_app.errors.own_frames import FrameGroup, frame_groups
from memory_app.models import ErrorDay, ErrorReport
from sessions_app.chats.reading.session_previews import session_names
from sessions_app.core.errors import NotFound
from sessions_app.core.public_names import now
from sessions_app.core.web.page_context import rows_asked, signed_in_caller
from sessions_app.core.web.schemas import make_cursor, read_cursor

A_PAGE, MOST_AT_ONCE = 30, 500
MOST_CHARACTERS, TITLE_LENGTH = 200, 120
# What the form for muting proposes.
MUTE = timedelta(days=7)
NO_SESSION = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class Shown:
    """`days`: counts of the last 14 days, today last."""

    error: ErrorReport
    days: list[int]
    muted: bool
    similar: SimilarFix | None

    @property
    def title(self) -> str:
        """The kind; without one, the beginning of the message."""
        words = self.error.message.strip()
        return self.error.kind or (words.splitlines()[0][:TITLE_LENGTH] if words else "Error without a message")

    @property
    def preview(self) -> str:
        """The message, as far as the title does not show it."""
        return "" if self.error.message.strip() == self.title else self.error.message

    @property
    def came_back(self) -> bool:
        return self.error.resolved_at is None and self.error.reopened_at is not None

    @property
    def place(self) -> str:
        """The top frame, as far as it is known."""
        error = self.error
        where = error.file if error.line is None else f"{error.file}:{error.line}"
        return f"{error.function} in {where}" if error.function and where else error.function or where


@dataclass(frozen=True, slots=True)
class Seen:
    """Occurrences of one day and run. `title`: of the session, if it can be opened."""

    row: ErrorDay
    agent: str
    title: str | None


@login_required
@require_safe
def errors_page(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    state, text = request.GET.get("state", ""), request.GET.get("q", "").strip()[:MOST_CHARACTERS]
    if state not in queries.STATES:
        raise NotFound
    limit = rows_asked(request, A_PAGE, MOST_AT_ONCE)
    rows = queries.list_errors(
        caller=signed_in_caller(request),
        project_id=project_id,
        state=state,
        text=text,
        after=read_cursor(request.GET.get("cursor")),
        limit=limit,
    )
    rules = list_rules(project_id=project_id)
    similar = similar_fixes(project_id, rows[:limit])
    known = {
        "rows": [_shown(row, similar.get(row.pk)) for row in rows[:limit]],
        "next_week": (now() + MUTE).date(),
        "next": make_cursor(rows[limit - 1].last_seen, rows[limit - 1].id) if len(rows) > limit else None,
        "counts": queries.count_by_state(project_id=project_id),
        "rules": rules,
        "filtered": sum(rule.filtered for rule in rules),
        "state": state,
        "text": text,
    }
    return page(request, project_id, "errors/list", known, tab="errors")


@login_required
@require_safe
def error_page(request: HttpRequest, project_id: uuid.UUID, fingerprint: str) -> HttpResponse:
    return show_error(
        request, queries.get_error(caller=signed_in_caller(request), project_id=project_id, fingerprint=fingerprint)
    )


def show_error(request: HttpRequest, error: ErrorReport, *, typed: str | None = None, status: int = 200) -> HttpResponse:
    """`typed`: a fix that was not saved."""
    similar = similar_fixes(error.project_id, [error])
    known = {
        "shown": _shown(error, similar.get(error.pk)),
        "stack": _groups(error.stack),
        "next_week": (now() + MUTE).date(),
        "typed": typed,
        **_where(request, error),
    }
    return page(request, error.project_id, "errors/detail", known, tab="errors", status=status)


def _groups(stored: str) -> list[FrameGroup]:
    """A damaged value is shown as it is stored."""
    try:
        return frame_groups(orjson.loads(stored))
    except orjson.JSONDecodeError:
        return frame_groups(stored)


def _where(request: HttpRequest, error: ErrorReport) -> dict[str, Any]:
    """When and where it happened: rows by day and run, and the newest place in the chats that can be opened."""
    rows = occurrences_of(error)
    sessions = {row.session_id for row in rows if row.session_id is not None}
    names = session_names(caller=signed_in_caller(request), session_ids=sessions)
    agents = agents_of_runs(error.project_id, rows)
    shown = [Seen(row, agents.get(row.run, ""), names.get(row.session_id or NO_SESSION)) for row in rows]
    return {"occurrences": shown, "origin": next((one for one in shown if one.title is not None), None)}


def _shown(error: ErrorReport, similar: SimilarFix | None = None) -> Shown:
    return Shown(error, queries.daily_counts(error, today=now().date()), error.is_muted(now()), similar)
