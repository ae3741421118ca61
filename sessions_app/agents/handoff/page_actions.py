"""The forms of the Handoff tab: add, edit in place, remove with Undo, freeze."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import orjson
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from sessions_app.agents.handoff import services as handoff_services
from sessions_app.agents.handoff.pages import KINDS, Kind, handoff_page, lines_of, shown_item
from sessions_app.agents.handoff.queries import content_of, get_handoff
from sessions_app.agents.handoff.schemas import Decision, File, Item, Risk
from sessions_app.core.errors import Conflict, Invalid, NotFound
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.toasts import toast_response
from sessions_app.models import Caller
from sessions_app.projects.queries import get_project

MODELS: dict[str, type[Item]] = {"decisions": Decision, "files": File, "risks": Risk}
LONGEST, LONGEST_SUMMARY = 10_000, 100_000
# A longer text does not fit into a URL: then the toast has no Undo.
LONGEST_UNDO = 6_000
CHANGED = "Somebody else changed this. Their text is shown; yours is still in the form: save again to replace theirs."
GONE = "Somebody else removed this. To keep it, add it again."


@dataclass(frozen=True, slots=True)
class Done:
    message: str
    undo: str = ""
    failed: bool = False


def _add(caller: Caller, project_id: uuid.UUID, form: QueryDict) -> Done:
    kind = _kind(form)
    given = {name: value for name, value in _fields(kind, form).items() if value is not None}
    done = handoff_services.add_item(caller=caller, project_id=project_id, kind=kind.name, item=given)
    return Done(f"This {kind.one} already exists." if done.merged else f"Added the {kind.one}.")


def _edit(caller: Caller, project_id: uuid.UUID, form: QueryDict) -> Done:
    kind = _kind(form)
    fields = _fields(kind, form)
    try:
        handoff_services.update_item(caller=caller, project_id=project_id, fields=fields, **_named(kind, form))
    except NotFound:
        raise Conflict(GONE) from None
    return Done("Saved.")


def _delete(caller: Caller, project_id: uuid.UUID, form: QueryDict) -> Done:
    kind = _kind(form)
    gone = handoff_services.delete_item(caller=caller, project_id=project_id, **_named(kind, form))
    query = urlencode({"kind": kind.name, "content": orjson.dumps(gone.item).decode()})
    undo = f"{reverse('handoff_act', args=[project_id, 'restore'])}?{query}"
    return Done(f"Removed the {kind.one}.", undo=undo if len(undo) <= LONGEST_UNDO else "")


def _restore(caller: Caller, project_id: uuid.UUID, form: QueryDict) -> Done:
    """Restores a removed item at the end of its list."""
    kind = _kind(form)
    try:
        given = MODELS[kind.name].model_validate_json(form.get("content", "")).model_dump(exclude_unset=True)
    except ValueError:
        raise Invalid("This Undo link is invalid. Add the item by hand.", details={"field": "content"}) from None
    handoff_services.add_item(caller=caller, project_id=project_id, kind=kind.name, item=given)
    return Done(f"The {kind.one} is back.")


def _summary(caller: Caller, project_id: uuid.UUID, form: QueryDict) -> Done:
    summary = _clean(form.get("summary", ""))
    if len(summary) > LONGEST_SUMMARY:
        raise Invalid(f"A summary has at most {LONGEST_SUMMARY:,} characters.", details={"field": "summary"})
    handoff_services.edit_summary(caller=caller, project_id=project_id, summary=summary, seen=form.get("mark") or "none")
    return Done("Saved.")


def _freeze(caller: Caller, project_id: uuid.UUID, form: QueryDict) -> Done:
    try:
        row = handoff_services.freeze_handoff(caller=caller, project_id=project_id, only_changed=True)
    except handoff_services.Unchanged as error:
        return Done(f"The same as snapshot {error.details['number']}: nothing was frozen.")
    except Conflict as error:
        return Done(error.message, failed=True)
    return Done(f"Frozen as snapshot {row.number}. It can no longer be changed.")


ACTS: dict[str, Callable[[Caller, uuid.UUID, QueryDict], Done]] = {
    "add": _add,
    "edit": _edit,
    "delete": _delete,
    "restore": _restore,
    "summary": _summary,
    "freeze": _freeze,
}


@login_required
@require_POST
def act(request: HttpRequest, project_id: uuid.UUID, name: str) -> HttpResponse:
    if name not in ACTS:
        raise NotFound
    form = request.GET.copy()
    form.update(request.POST)
    try:
        done = ACTS[name](signed_in_caller(request), project_id, form)
    except handoff_services.Changed:
        return _show_newer(request, project_id, form)
    page = reverse("project_handoff", args=[project_id])
    return toast_response(request, done.message, page=page, undo=done.undo, failed=done.failed)


def _show_newer(request: HttpRequest, project_id: uuid.UUID, form: QueryDict) -> HttpResponse:
    """The current text, above a form that still holds the editor's text."""
    if not request.htmx:  # type: ignore[attr-defined]
        messages.error(request, CHANGED)
    words = {name: str(value) for name, value in form.items()}
    if "kind" in form:
        reply = _item_page(request, project_id, form, words=words, status=412)
    else:
        reply = handoff_page(request, project_id, draft=words.get("summary", ""), status=412)
    reply["Stillhere-Message"] = quote(CHANGED)
    return reply


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def item_page(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """The form for one item; only the form where it replaces the item on the tab."""
    return _item_page(request, project_id, request.GET)


def _item_page(
    request: HttpRequest, project_id: uuid.UUID, form: QueryDict, *, words: dict[str, str] | None = None, status: int = 200
) -> HttpResponse:
    """`words`: the editor's text, if it conflicted with a newer one."""
    caller, kind = signed_in_caller(request), _kind(form)
    project = get_project(caller=caller, project_id=project_id)
    present = content_of(get_handoff(caller=caller, project_id=project_id))[kind.name]
    found = next((item for item in present if item["id"] == form.get("item")), None)
    if found is None:
        raise NotFound
    stored = {field.name: "\n".join(lines_of(found.get(field.name))) for field in kind.fields}
    fields = [(field, {**stored, **(words or {})}[field.name]) for field in kind.fields]
    context = {"project": project, "here": project.id, "tab": "handoff", "kind": kind, "item": shown_item(kind, found)}
    name = "item.html#item" if request.htmx else "item.html"  # type: ignore[attr-defined]
    shown = {**context, "fields": fields, "refused": words is not None}
    return render(request, f"agents/handoff/{name}", shown, status=status)


def _named(kind: Kind, form: QueryDict) -> dict[str, Any]:
    """The item that the form names, and the version that it showed."""
    return {"kind": kind.name, "item_id": form.get("item", ""), "seen": form.get("mark") or "none"}


def _kind(form: QueryDict) -> Kind:
    kind = KINDS.get(form.get("kind", ""))
    if kind is None:
        raise NotFound
    return kind


def _fields(kind: Kind, form: QueryDict) -> dict[str, Any]:
    """The form's values; None for an empty field."""
    values: dict[str, Any] = {field.name: _clean(form.get(field.name, "")) or None for field in kind.fields}
    for field in kind.fields:
        if len(values[field.name] or "") > LONGEST:
            raise Invalid(f"{field.label}: at most {LONGEST:,} characters.", details={"field": field.name})
    if values[kind.fields[0].name] is None:
        raise Invalid(f"Say what the {kind.one} is.", details={"field": kind.fields[0].name})
    if values.get("rejected"):
        values["rejected"] = [line.strip() for line in values["rejected"].splitlines() if line.strip()]
    return values


def _clean(text: str) -> str:
    """Normalizes text as browsers send it."""
    return text.replace("\r\n", "\n").replace("\0", "\ufffd").strip()
