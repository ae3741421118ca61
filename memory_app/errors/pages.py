"""A project's error pages: the list, and one page per error with its stack and its fix."""

import uuid
from dataclasses import dataclass
from typing import Any

import orjson
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from memory_app.core.lease import By
from memory_app.core.page_context import overridden, page, rows_asked
from memory_app.errors import queries
from memory_app.errors import services as error_services
from memory_app.errors.noise.queries import list_rules
from memory_app.models import ErrorReport
from sessions_app.core.errors import NotFound
from sessions_app.core.public_names import now
from sessions_app.core.serialization.strict_json import clean_text
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.schemas import make_cursor, read_cursor
from sessions_app.core.web.toasts import toast_response

A_PAGE, MOST_AT_ONCE = 30, 500
MOST_CHARACTERS, FIX_LENGTH, TITLE_LENGTH = 200, 10_000, 120


@dataclass(frozen=True, slots=True)
class Shown:
    """`days`: counts of the last 14 days, today last."""

    error: ErrorReport
    days: list[int]

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
    known = {
        "rows": [_shown(row) for row in rows[:limit]],
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
    error = queries.get_error(caller=signed_in_caller(request), project_id=project_id, fingerprint=fingerprint)
    known = {"shown": _shown(error), "stack": stack_text(error.stack)}
    return page(request, project_id, "errors/detail", known, tab="errors")


@login_required
@require_POST
def resolve_error(request: HttpRequest, project_id: uuid.UUID, fingerprint: str) -> HttpResponse:
    fix = clean_text(request.POST.get("known_fix", "").strip())[:FIX_LENGTH]
    error, _ = error_services.resolve_error(
        caller=signed_in_caller(request), project_id=project_id, fingerprint=fingerprint, known_fix=fix, run_id=By.PERSON
    )
    undo = reverse("reopen_error", args=[project_id, error.fingerprint])
    done = f"Resolved. It is reopened when it is seen again.{overridden(project_id)}"
    return toast_response(request, done, page=reverse("errors", args=[project_id]), undo=undo)


@login_required
@require_POST
def reopen_error(request: HttpRequest, project_id: uuid.UUID, fingerprint: str) -> HttpResponse:
    error_services.reopen_error(
        caller=signed_in_caller(request), project_id=project_id, fingerprint=fingerprint, run_id=By.PERSON
    )
    return toast_response(request, f"Open again.{overridden(project_id)}", page=reverse("errors", args=[project_id]))


def stack_text(stored: str) -> str:
    """The stack with one line per frame; text, and a damaged value, unchanged."""
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
