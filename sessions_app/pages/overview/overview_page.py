"""`/overview/`: what happened in all projects, and a small one in each project. Both also as CSV."""

import csv
import uuid
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.core.web.page_context import project_page, signed_in_caller
from sessions_app.models.times import now
from sessions_app.pages.overview.activity_counts import count_activity, first_day
from sessions_app.pages.overview.figures import read_figures
from sessions_app.pages.overview.heat_map import Square, drawn, listed, months, squares, week
from sessions_app.pages.overview.tool_counts import SHOWN, ToolFigure, count_tools
from sessions_app.projects.queries import get_project

# Names of the files by what `as` asks for.
FILES = {"csv": "activity", "projects.csv": "projects", "tools.csv": "tools"}
# A spreadsheet runs a cell that begins like this as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@login_required
@never_cache
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """Of all projects. `?as=csv`: messages by day, `projects.csv`: the totals of each project, `tools.csv`: calls of tools."""
    context = _context(request, None)
    return _as_csv(request, context) or render(request, "pages/overview/overview.html", context)


@login_required
@never_cache
@require_safe
def project_overview(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    project = get_project(caller=signed_in_caller(request), project_id=project_id)
    context = _context(request, project_id)
    reply = _as_csv(request, context)
    return reply or project_page(request, project, "pages/overview/project_overview.html", tab="overview", **context)


def _context(request: HttpRequest, project_id: uuid.UUID | None) -> dict[str, Any]:
    user_id, today = signed_in_caller(request).user_id, now().date()
    activity = count_activity(user_id=user_id)
    name = None if project_id is None else project_id.hex
    days = squares(activity, today, name)
    figures = read_figures(user_id=user_id, project_id=project_id)
    tools = count_tools(user_id=user_id)
    tool_figures = tools.figures(project_id)
    listing = reverse("sessions") + ("?" if project_id is None else f"?project={project_id}&")
    return {
        "days": days,
        "squares": drawn(days, listing),
        "day_rows": listed(days, listing),
        "listing": listing,
        "since": first_day(today).isoformat(),
        "months": months(today),
        "week": week(activity, name),
        "written": sum(day.number for day in days),
        "complete": activity.complete,
        "tools": tool_figures[:SHOWN],
        "all_tools": tool_figures,
        "tools_complete": tools.complete,
        "figures": figures,
        "sums": figures.sums,
    }


def _as_csv(request: HttpRequest, context: dict[str, Any]) -> HttpResponse | None:
    wanted = request.GET.get("as", "")
    if wanted not in FILES:
        return None
    reply = HttpResponse(content_type="text/csv; charset=utf-8")
    reply["Content-Disposition"] = f'attachment; filename="{FILES[wanted]}.csv"'
    rows = csv.writer(reply)
    for row in _rows(wanted, context):
        rows.writerow([f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in row])
    return reply


def _rows(wanted: str, context: dict[str, Any]) -> list[list[Any]]:
    if wanted == "csv":
        return _day_rows(context["days"])
    return _tool_rows(context["all_tools"]) if wanted == "tools.csv" else _project_rows(context["figures"].projects)


def _tool_rows(tools: list[ToolFigure]) -> list[list[Any]]:
    return [["tool", "calls", "failed", "repeated"], *([one.name, one.calls, one.failed, one.repeated] for one in tools)]


def _day_rows(days: list[Square]) -> list[list[Any]]:
    return [["day", "messages"], *([day.day.isoformat(), day.number] for day in days)]


def _project_rows(projects: list[Any]) -> list[list[Any]]:
    names = sorted({name for project in projects for name in project.counts})
    head = ["project", "path", "sessions", "messages", "bytes", *names]
    return [
        head,
        *(
            [row.label, row.path, row.sessions, row.messages, row.size_bytes, *(row.counts[name] for name in names)]
            for row in projects
        ),
    ]
