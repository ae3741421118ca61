"""What a project hands over: the live handoff, its snapshots, and what is different between two."""

import hashlib
import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from sessions_app.errors import Invalid
from sessions_app.models import Caller, Project
from sessions_app.queries.handoff import (
    LISTS,
    content_of,
    difference,
    get_handoff,
    get_snapshot,
    list_snapshots,
    mark_of,
    markdown,
)
from sessions_app.queries.projects import get_project
from sessions_app.queries.states import read_json
from sessions_app.views.differences import counted, shown_changes
from sessions_app.views.frame import caller_of
from sessions_app.views.markdown import render as render_text

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
    """`fields`: the first is what the item says; the others may be empty. `wanted`: what belongs here."""

    name: str
    one: str
    fields: tuple[Field, ...]
    wanted: str


DECISION = (Field("text", "Decision"), Field("rationale", "Why"), Field("rejected", "Rejected", "One a line."))
KINDS = {
    kind.name: kind
    for kind in (
        Kind("decisions", "decision", DECISION, "What was decided, why, and what was rejected."),
        Kind("files", "file", (Field("path", "Path", rows=1), Field("note", "Note")), "Where whoever goes on has to look."),
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
        """For the page's ids: an item's own may hold anything."""
        return hashlib.sha256(self.id.encode()).hexdigest()[:12]

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
    """Live, with the snapshots; alone where the page brings itself up to date. `draft`: a summary that met a newer one."""
    caller = caller_of(request)
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
        "summary_html": render_text(content["summary"]),
        "summary_mark": mark_of(content["summary"]),
        "live": live,
        "drift": _drift(caller, project, live.last_number, content),
        "snapshots": rows[:A_PAGE],
        "next": rows[A_PAGE - 1].number if len(rows) > A_PAGE else None,
    }
    parts = request.htmx and "before" not in request.GET  # type: ignore[attr-defined]
    name = "project_handoff.html#parts" if parts else "project_handoff.html"
    return render(request, f"sessions_app/{name}", {**context, "here": project.id, "tab": "handoff"}, status=status)


@login_required
@never_cache
@require_safe
def snapshot(request: HttpRequest, project_id: uuid.UUID, number: int) -> HttpResponse:
    """A frozen one, and how far the live one went on since."""
    caller = caller_of(request)
    project = get_project(caller=caller, project_id=project_id)
    row = get_snapshot(caller=caller, project_id=project_id, number=number)
    payload, live = read_json(row.payload), content_of(get_handoff(caller=caller, project_id=project_id))
    context = {
        "snapshot": row,
        "groups": shown_groups(payload),
        "summary_html": render_text(payload.get("summary", "")),
        "markdown": markdown(row),
        "drift": counted(difference(payload, live)),
    }
    shown = {"project": project, "here": project.id, "tab": "handoff", **context}
    return render(request, "sessions_app/handoff_snapshot.html", shown)


@login_required
@never_cache
@require_safe
def compare(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """What `?to=` has otherwise than `?from=`; each a snapshot's number, or `live`."""
    caller = caller_of(request)
    project = get_project(caller=caller, project_id=project_id)
    numbers = [row.number for row in list_snapshots(caller=caller, project_id=project_id, limit=MOST_CHOICES)]
    newest = str(numbers[0]) if numbers else LIVE
    sides = request.GET.get("from", newest), request.GET.get("to", LIVE)
    old, new = (_content(caller, project, side) for side in sides)
    found = difference(old, new)
    chosen = {_number(side) for side in sides if side != LIVE}
    choices = [str(number) for number in sorted({*numbers, *chosen}, reverse=True)]
    context = {"old": sides[0], "new": sides[1], "numbers": choices}
    shown = {"project": project, "here": project.id, "tab": "handoff", "told": counted(found), "changes": shown_changes(found)}
    return render(request, "sessions_app/handoff_compare.html", {**shown, **context})


def shown_groups(content: dict[str, Any]) -> list[Group]:
    return [Group(KINDS[kind], [shown_item(KINDS[kind], item) for item in content.get(kind, [])]) for kind in LISTS]


def shown_item(kind: Kind, item: dict[str, Any]) -> Item:
    return Item(item["id"], item[kind.fields[0].name], item, mark_of(item))


def lines_of(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []


def _drift(caller: Caller, project: Project, number: int, content: dict[str, Any]) -> str:
    """How far it went on since the newest snapshot, where there is one."""
    if not number:
        return ""
    row = get_snapshot(caller=caller, project_id=project.id, number=number)
    return counted(difference(read_json(row.payload), content))


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
