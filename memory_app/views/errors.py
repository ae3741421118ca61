"""What went wrong in a project: its errors, each on a page of its own with its stack, and what resolved it."""

import uuid
from dataclasses import dataclass
from typing import Any

import orjson
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from memory_app.models import ErrorReport
from memory_app.queries import errors as queries
from memory_app.queries.noise import list_rules
from memory_app.services import errors
from memory_app.services.lease import By
from memory_app.views.frame import overridden, page, rows_asked
from sessions_app.errors import NotFound
from sessions_app.queries.shared import now
from sessions_app.schemas.common import make_cursor, read_cursor
from sessions_app.schemas.strict_json import clean_text
from sessions_app.views.frame import caller_of
from sessions_app.views.telling import told

A_PAGE, MOST_AT_ONCE = 30, 500
MOST_CHARACTERS, FIX_LENGTH = 200, 10_000


@dataclass(frozen=True, slots=True)
class Shown:
    """`days`: how often on each of the last 14, today last."""

    error: ErrorReport
    days: list[int]

    @property
    def came_back(self) -> bool:
        return self.error.resolved_at is None and self.error.reopened_at is not None

    @property
    def place(self) -> str:
        """The top frame, as far as it is known."""
        error = self.error
        where = error.file if error.line is None else f"{error.file}:{error.line}"
        return f"{error.function} in {where}" if error.function and where else error.function or where


@login_required
@require_safe
def errors_page(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    state, text = request.GET.get("state", ""), request.GET.get("q", "").strip()[:MOST_CHARACTERS]
    if state not in queries.STATES:
        raise NotFound
    limit = rows_asked(request, A_PAGE, MOST_AT_ONCE)
    rows = queries.list_errors(
        caller=caller_of(request),
        project_id=project_id,
        state=state,
        text=text,
        after=read_cursor(request.GET.get("cursor")),
        limit=limit,
    )
    rules = list_rules(project_id=project_id)
    known = {
        "rows": [_shown(row) for row in rows[:limit]],
        "next": make_cursor(rows[limit - 1].last_seen, rows[limit - 1].id) if len(rows) > limit else None,
        "counts": queries.count_by_state(project_id=project_id),
        "rules": rules,
        "filtered": sum(rule.filtered for rule in rules),
        "state": state,
        "text": text,
    }
    return page(request, project_id, "errors", known, tab="errors")


@login_required
@require_safe
def error_page(request: HttpRequest, project_id: uuid.UUID, fingerprint: str) -> HttpResponse:
    error = queries.get_error(caller=caller_of(request), project_id=project_id, fingerprint=fingerprint)
    known = {"shown": _shown(error), "stack": stack_text(error.stack)}
    return page(request, project_id, "error", known, tab="errors")


@login_required
@require_POST
def resolve_error(request: HttpRequest, project_id: uuid.UUID, fingerprint: str) -> HttpResponse:
    fix = clean_text(request.POST.get("known_fix", "").strip())[:FIX_LENGTH]
    error, _ = errors.resolve_error(
        caller=caller_of(request), project_id=project_id, fingerprint=fingerprint, known_fix=fix, run_id=By.PERSON
    )
    undo = reverse("reopen_error", args=[project_id, error.fingerprint])
    done = f"Resolved. It opens again by itself when it is seen again.{overridden(project_id)}"
    return told(request, done, page=reverse("errors", args=[project_id]), undo=undo)


@login_required
@require_POST
def reopen_error(request: HttpRequest, project_id: uuid.UUID, fingerprint: str) -> HttpResponse:
    errors.reopen_error(caller=caller_of(request), project_id=project_id, fingerprint=fingerprint, run_id=By.PERSON)
    return told(request, f"Open again.{overridden(project_id)}", page=reverse("errors", args=[project_id]))


def stack_text(stored: str) -> str:
    """As one reads a stack: a line a frame; a text, or what is damaged, as it is."""
    try:
        stack = orjson.loads(stored)
        return "\n".join(_frame_text(frame) for frame in stack) if isinstance(stack, list) else str(stack or "")
    except (orjson.JSONDecodeError, AttributeError):
        return stored


def _frame_text(frame: dict[str, Any]) -> str:
    where = ":".join(str(part) for part in (frame.get("file"), frame.get("line")) if part is not None)
    return f"{frame.get('function') or '(anonymous)'}  {where}".rstrip()


def _shown(error: ErrorReport) -> Shown:
    return Shown(error, queries.daily_counts(error, today=now().date()))
