"""One entry's page: its value, an editor for it, its versions."""

import json
import uuid
from dataclasses import dataclass, replace

import orjson
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory_app.models import MemoryEntry
from memory_app.queries import entries as queries
from memory_app.queries.generated import GENERATED, get_generated
from memory_app.services import entries
from memory_app.services.entries import NewEntry, Stored, entry_etag
from memory_app.services.lease import By
from memory_app.views.frame import overridden, page
from memory_app.views.json_tree import render_json
from sessions_app.errors import AppError, Gone, Invalid, NotFound, PreconditionFailed
from sessions_app.schemas import strict_json
from sessions_app.services.conditions import ANY, Conditions
from sessions_app.views.frame import caller_of
from sessions_app.views.telling import told

CHANGED = "It has changed since you opened it. Save once more to replace what stands there now, or look at it first."
TAKEN = "There is an entry under this key already. Take another key, or edit that one."


@dataclass(frozen=True, slots=True)
class Draft:
    """What stands in the editor. `match`: the ETag of what it was made from; empty: a new entry."""

    namespace: str = ""
    key: str = ""
    text: str = ""
    match: str = ""
    error: str = ""


@login_required
@require_safe
def entry_page(request: HttpRequest, project_id: uuid.UUID, namespace: str, key: str) -> HttpResponse:
    """With `?rev=` the value of then."""
    caller = caller_of(request)
    if (namespace, key) in GENERATED:
        made, _ = get_generated(caller=caller, project_id=project_id, namespace=namespace, key=key)
        tree = render_json(orjson.dumps(made["value"]).decode())
        return page(request, project_id, "entry_generated", {"entry": made, "namespace": namespace, "tree": tree})
    entry = queries.get_entry(caller=caller, project_id=project_id, namespace=namespace, key=key)
    versions = queries.list_version_heads(entry=entry)
    asked = request.GET.get("rev", "")
    former = None if asked in {"", str(entry.rev)} else queries.get_version(entry_id=entry.id, rev=_number(asked))
    tree = render_json(entry.value if former is None else former.value)
    known = {"entry": entry, "namespace": namespace, "versions": versions, "former": former, "tree": tree}
    return page(request, project_id, "entry", known)


@login_required
@require_http_methods(["GET", "POST"])
def edit_entry(request: HttpRequest, project_id: uuid.UUID, namespace: str, key: str) -> HttpResponse:
    entry = queries.get_entry(caller=caller_of(request), project_id=project_id, namespace=namespace, key=key)
    if request.method == "POST":
        draft = Draft(namespace, key, request.POST.get("value", ""), request.POST.get("match", ""))
        return _save(request, project_id, draft, entry)
    return _editor(request, project_id, Draft(namespace, key, _indented(entry.value), entry_etag(entry.rev)), entry)


@login_required
@require_http_methods(["GET", "POST"])
def new_entry(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    if request.method == "POST":
        namespace, key = request.POST.get("namespace", "").strip(), request.POST.get("key", "").strip()
        return _save(request, project_id, Draft(namespace, key, request.POST.get("value", "")))
    return _editor(request, project_id, Draft(request.GET.get("namespace", ""), text="{\n  \n}"))


@login_required
@require_POST
def delete_entry(request: HttpRequest, project_id: uuid.UUID, namespace: str, key: str) -> HttpResponse:
    deleted = entries.delete_entry(
        caller=caller_of(request),
        project_id=project_id,
        namespace=namespace,
        key=key,
        conditions=ANY,
        run_id=By.PERSON,
    )
    undo = reverse("undelete_memory_entry", args=[project_id, deleted.id])
    done = f"{deleted} is deleted, and can be brought back for 30 days.{overridden(project_id)}"
    return told(request, done, page=reverse("memory_keys", args=[project_id, namespace]), undo=undo)


@login_required
@require_POST
def restore_version(request: HttpRequest, project_id: uuid.UUID, namespace: str, key: str, rev: int) -> HttpResponse:
    stored = entries.restore_version(
        caller=caller_of(request), project_id=project_id, namespace=namespace, key=key, rev=rev, run_id=By.PERSON
    )
    done = f"The value of rev {rev} is the present one again.{overridden(project_id)}"
    return told(request, done, page=_address(stored.entry))


def _save(request: HttpRequest, project_id: uuid.UUID, draft: Draft, present: MemoryEntry | None = None) -> HttpResponse:
    """A refusal goes back into the editor with what was written; only what is gone or not one's own is another page."""
    try:
        stored = _put(request, project_id, draft)
    except (NotFound, Gone):
        raise
    except PreconditionFailed as error:
        newer = replace(draft, error=TAKEN) if present is None else replace(draft, match=entry_etag(present.rev), error=CHANGED)
        return _editor(request, project_id, newer, present, status=error.status)
    except strict_json.UnreadableJson as error:
        said = f"This is no JSON that can be stored: {error.why}."
        return _editor(request, project_id, replace(draft, error=said), present, status=Invalid.status)
    except AppError as error:
        return _editor(request, project_id, replace(draft, error=error.message), present, status=error.status)
    secrets = sum(stored.redacted.values())
    taken_out = f" Secrets in it that were not stored: {secrets}." if secrets else ""
    done = f"Saved as rev {stored.entry.rev}.{taken_out}{overridden(project_id)}"
    return told(request, done, page=_address(stored.entry))


def _put(request: HttpRequest, project_id: uuid.UUID, draft: Draft) -> Stored:
    value, _ = strict_json.loads(draft.text.encode())
    revised = Conditions(if_match=draft.match) if draft.match else Conditions(if_none_match="*")
    return entries.put_entry(
        caller=caller_of(request),
        project_id=project_id,
        entry=NewEntry(draft.namespace, draft.key, value),
        conditions=revised,
        run_id=By.PERSON,
    )


def _editor(
    request: HttpRequest, project_id: uuid.UUID, draft: Draft, present: MemoryEntry | None = None, *, status: int = 200
) -> HttpResponse:
    known = {"draft": draft, "namespace": draft.namespace, "entry": present}
    return page(request, project_id, "entry_editor", known, status=status)


def _indented(text: str) -> str:
    """A damaged value as it is, to be mended."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def _address(entry: MemoryEntry) -> str:
    return reverse("memory_entry", args=[entry.project_id, entry.namespace, entry.key])


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise Invalid("This form was incomplete. Load the page anew.", details={"field": "rev"})
    return int(text)
