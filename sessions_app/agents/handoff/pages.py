"""Handoff pages: the live handoff, its snapshots, and the comparison of two."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from sessions_app.agents.handoff.comparison import counted, shown_changes
from sessions_app.agents.handoff.handoff_search import item_key
from sessions_app.agents.handoff.queries import (
    LISTS,
    content_of,
    difference,
    get_handoff,
    get_snapshot,
    list_snapshots,
    mark_of,
    markdown,
)
from sessions_app.core.errors import Invalid
from sessions_app.core.rendering.page_renderer import render as render_text
from sessions_app.core.serialization.stored_json import read_json
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.models import Caller, Project
from sessions_app.projects.queries import get_project

A_PAGE = 20
MOST_CHOICES = 500
LIVE = "live"


@dataclass(frozen=True, slots=True)
class Field:
    """One line of a form for an item."""

    name: str
    label: str
    hint: str = ""
    rows: int = 2


@dataclass(frozen=True, slots=True)
class Kind:
    """`fields`: the first one is the item's text; the others may be empty. `wanted`: what belongs in this list."""

    name: str
    one: str
    fields: tuple[Field, ...]
    wanted: str


DECISION = (Field("text", "Decision"), Field("rationale", "Why"), Field("rejected", "Rejected", "One a line."))
KINDS = {
    kind.name: kind
    for kind in (
        Kind("decisions", "decision", DECISION, "What was decided, why, and what was rejected."),
        Kind("files", "file", (Field("path", "Path", rows=1), Field("note", "Note")), "Files that the next reader should open."),
        Kind("risks", "risk", (Field("text", "Risk"),), "What may still go wrong."),
    )
}


@dataclass(frozen=True, slots=True)
class Item:
    id: str
    says: str
    details: dict[str, Any]
    mark: str

    @property
    def key(self) -> str:
        return item_key(self.id)

    @property
    def rejected(self) -> list[str]:
        return lines_of(self.details.get("rejected"))


@dataclass(frozen=True, slots=True)
class Group:
    kind: Kind
    items: list[Item]


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def project_handoff(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    return handoff_page(request, project_id)


def handoff_page(request: HttpRequest, project_id: uuid.UUID, *, draft: str | None = None, status: int = 200) -> HttpResponse:
    """The live handoff and its snapshots; a fragment where the page updates itself. `draft`: a summary that met a newer one."""
    caller = signed_in_caller(request)
    project = get_project(caller=caller, project_id=project_id)
    live = get_handoff(caller=caller, project_id=project_id)
    content = content_of(live)
    rows = list_snapshots(caller=caller, project_id=project_id, before=_before(request), limit=A_PAGE)
    context = {
        "project": project,
        "groups": shown_groups(content),
        "summary": content["summary"],
        "summary_draft": content["summary"] if draft is None else draft,
        "summary_refused": draft is not None,
        "summary_html": render_text(content["summary"], caller.user_id),
        "summary_mark": mark_of(content["summary"]),
        "live": live,
        "drift": _drift(caller, project, live.last_number, content),
        "snapshots": rows[:A_PAGE],
        "next": rows[A_PAGE - 1].number if len(rows) > A_PAGE else None,
    }
    parts = request.htmx and "before" not in request.GET  # type: ignore[attr-defined]
    name = "live.html#parts" if parts else "live.html"
    return render(request, f"agents/handoff/{name}", {**context, "here": project.id, "tab": "handoff"}, status=status)


@login_required
@never_cache
@require_safe
def snapshot(request: HttpRequest, project_id: uuid.UUID, number: int) -> HttpResponse:
    """A snapshot, and how the live handoff changed since."""
    caller = signed_in_caller(request)
    project = get_project(caller=caller, project_id=project_id)
    row = get_snapshot(caller=caller, project_id=project_id, number=number)
    payload, live = read_json(row.payload), content_of(get_handoff(caller=caller, project_id=project_id))
    context = {
        "snapshot": row,
        "groups": shown_groups(payload),
        "summary_html": render_text(payload.get("summary", ""), caller.user_id),
        "markdown": markdown(row),
        "drift": counted(difference(payload, live)),
    }
    shown = {"project": project, "here": project.id, "tab": "handoff", **context}
    return render(request, "agents/handoff/snapshot.html", shown)


@login_required
@never_cache
@require_safe
def compare(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """The differences from `?from=` to `?to=`; each a snapshot's number, or `live`."""
    caller = signed_in_caller(request)
    project = get_project(caller=caller, project_id=project_id)
    numbers = [row.number for row in list_snapshots(caller=caller, project_id=project_id, limit=MOST_CHOICES)]
    asked = "from" in request.GET or "to" in request.GET
    sides = request.GET.get("from", str(numbers[0]) if numbers else LIVE), request.GET.get("to", LIVE)
    found = _between(caller, project, sides)
    if not asked and len(numbers) > 1 and not any(found.values()):
        # Just frozen: the live handoff equals the newest snapshot, so compare with the one before.
        sides = str(numbers[1]), str(numbers[0])
        found = _between(caller, project, sides)
    chosen = {_number(side) for side in sides if side != LIVE}
    choices = [str(number) for number in sorted({*numbers, *chosen}, reverse=True)]
    alone = not asked and len(numbers) < 2 and not any(found.values())
    context = {"old": sides[0], "new": sides[1], "numbers": choices, "alone": alone}
    shown = {"project": project, "here": project.id, "tab": "handoff", "told": counted(found), "changes": shown_changes(found)}
    return render(request, "agents/handoff/comparison.html", {**shown, **context})


def shown_groups(content: dict[str, Any]) -> list[Group]:
    return [Group(KINDS[kind], [shown_item(KINDS[kind], item) for item in content.get(kind, [])]) for kind in LISTS]


def shown_item(kind: Kind, item: dict[str, Any]) -> Item:
    return Item(item["id"], item[kind.fields[0].name], item, mark_of(item))


def lines_of(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def _drift(caller: Caller, project: Project, number: int, content: dict[str, Any]) -> str:
    """How the handoff changed since the newest snapshot, if there is one."""
    if not number:
        return ""
    row = get_snapshot(caller=caller, project_id=project.id, number=number)
    return counted(difference(read_json(row.payload), content))


def _between(caller: Caller, project: Project, sides: tuple[str, str]) -> dict[str, Any]:
    old, new = (_content(caller, project, side) for side in sides)
    return difference(old, new)


def _content(caller: Caller, project: Project, side: str) -> dict[str, Any]:
    if side == LIVE:
        return content_of(get_handoff(caller=caller, project_id=project.id))
    row = get_snapshot(caller=caller, project_id=project.id, number=_number(side))
    content: dict[str, Any] = read_json(row.payload)
    return content


def _before(request: HttpRequest) -> int | None:
    before = request.GET.get("before")
    return None if before is None else _number(before)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Invalid("A snapshot has a number: 1, 2, 3 …", details={"field": "number"})
    return int(text)
