"""One entry's page: its value, an editor for it, its versions."""

import json
import uuid
from dataclasses import dataclass, replace

import orjson
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory_app.core.lease import By
from memory_app.core.namespaces import as_shown, pack
from memory_app.core.page_context import overridden, page
from memory_app.core.stored_json import EntryNotFound
from memory_app.key_value.entries import queries
from memory_app.key_value.entries import services as entrie_services
from memory_app.key_value.entries.entry_rows import EntryRow
from memory_app.key_value.entries.entry_values import NOTHING, NewEntry, Stored, entry_etag, exact_value
from memory_app.key_value.entries.generated import GENERATED, get_generated
from memory_app.models import MemoryEntry
from sessions_app.core.errors import AppError, Gone, Invalid, NotFound, PreconditionFailed
from sessions_app.core.rendering.blocks.json_tree import render_json
from sessions_app.core.serialization import strict_json
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.preconditions import ANY, Conditions
from sessions_app.core.web.toasts import toast_response

CHANGED = "It has changed since you opened it. Save again to replace the current value, or check it first."
DELETED = "This entry was deleted while you were writing. Save to create it again."
TAKEN = "An entry with this key already exists. Use another key, or edit that entry."


@dataclass(frozen=True, slots=True)
class Draft:
    """The editor's content. `match`: the ETag of the value it started from; empty: a new entry. `fixed`: what cannot be typed,
    "namespace" or "entry", which is the namespace and the key."""

    namespace: str = ""
    key: str = ""
    text: str = ""
    match: str = ""
    error: str = ""
    fixed: str = ""


@login_required
@require_safe
def entry_page(request: HttpRequest, project_id: uuid.UUID, namespace: str, key: str) -> HttpResponse:
    """With `?rev=` the value of that version."""
    caller = signed_in_caller(request)
    if (namespace, key) in GENERATED:
        made, _ = get_generated(caller=caller, project_id=project_id, namespace=namespace, key=key)
        tree = render_json(orjson.dumps(made["value"]).decode())
        return page(request, project_id, "entries/generated", {"entry": made, "namespace": namespace, "tree": tree})
    entry = queries.get_entry(caller=caller, project_id=project_id, namespace=namespace, key=key)
    versions = queries.list_version_heads(entry=entry)
    asked = request.GET.get("rev", "")
    former = None if asked in {"", str(entry.rev)} else queries.get_version(entry_id=entry.id, rev=_number(asked))
    tree = render_json(entry.value if former is None else former.value)
    known = {"entry": entry, "namespace": namespace, "versions": versions, "former": former, "tree": tree}
    return page(request, project_id, "entries/detail", known)


@login_required
@require_http_methods(["GET", "POST"])
def edit_entry(request: HttpRequest, project_id: uuid.UUID, namespace: str, key: str) -> HttpResponse:
    caller, draft = signed_in_caller(request), Draft(namespace, key, fixed="entry")
    if request.method == "POST":
        draft = replace(draft, text=request.POST.get("value", ""), match=request.POST.get("match", ""))
    try:
        entry = queries.get_entry(caller=caller, project_id=project_id, namespace=namespace, key=key)
    except EntryNotFound:
        if request.method != "POST":
            raise
        return _save_deleted(request, project_id, draft)
    if request.method == "POST":
        return _save(request, project_id, draft, entry)
    return _editor(request, project_id, replace(draft, text=_indented(entry.value), match=entry_etag(entry.rev)), entry)


def _save_deleted(request: HttpRequest, project_id: uuid.UUID, draft: Draft) -> HttpResponse:
    """Nothing that was typed is lost. The first time its writer is told; who saves once more creates the entry again."""
    if draft.match:
        return _editor(request, project_id, replace(draft, match="", error=DELETED), status=PreconditionFailed.status)
    return _save(request, project_id, draft)


@login_required
@require_http_methods(["GET", "POST"])
def new_entry(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    if request.method == "POST":
        namespace, key = _namespace_of(request.POST.get("namespace", "")), request.POST.get("key", "").strip()
        return _save(request, project_id, Draft(namespace, key, request.POST.get("value", "")))
    return _editor(request, project_id, Draft(_namespace_of(request.GET.get("namespace", "")), text="{\n  \n}"))


@login_required
@require_http_methods(["GET", "POST"])
def new_entry_there(request: HttpRequest, project_id: uuid.UUID, namespace: str) -> HttpResponse:
    """In this namespace, whose labels need not be what somebody could type."""
    if request.method == "POST":
        key, text = request.POST.get("key", "").strip(), request.POST.get("value", "")
        return _save(request, project_id, Draft(namespace, key, text, fixed="namespace"))
    return _editor(request, project_id, Draft(namespace, text="{\n  \n}", fixed="namespace"))


@login_required
@require_POST
def delete_entry(request: HttpRequest, project_id: uuid.UUID, namespace: str, key: str) -> HttpResponse:
    deleted = entrie_services.delete_entry(
        caller=signed_in_caller(request),
        project_id=project_id,
        namespace=namespace,
        key=key,
        conditions=ANY,
        run_id=By.PERSON,
    )
    name = f"{as_shown(namespace)} / {key}"
    undo = "" if deleted.id is None else reverse("undelete_memory_entry", args=[project_id, deleted.id])
    restorable = ", and can be restored for 30 days" if undo else ""
    done = f"{name} is deleted{restorable}.{overridden(project_id)}"
    return toast_response(request, done, page=reverse("memory_keys", args=[project_id, namespace]), undo=undo)


@login_required
@require_POST
def restore_version(request: HttpRequest, project_id: uuid.UUID, namespace: str, key: str, rev: int) -> HttpResponse:
    stored = entrie_services.restore_version(
        caller=signed_in_caller(request), project_id=project_id, namespace=namespace, key=key, rev=rev, run_id=By.PERSON
    )
    done = f"The value of rev {rev} is restored.{overridden(project_id)}"
    return toast_response(request, done, page=_address(stored.entry))


def _namespace_of(typed: str) -> str:
    """What people type: `a / b / c` is a path."""
    return pack([label.strip() for label in typed.split("/")]) if typed.strip() else ""


def _save(request: HttpRequest, project_id: uuid.UUID, draft: Draft, present: MemoryEntry | None = None) -> HttpResponse:
    """On an error the editor is shown again with its text; only a missing entry or project gives an error page."""
    try:
        stored = _put(request, project_id, draft)
    except (NotFound, Gone):
        raise
    except PreconditionFailed as error:
        newer = replace(draft, error=TAKEN) if present is None else replace(draft, match=entry_etag(present.rev), error=CHANGED)
        return _editor(request, project_id, newer, present, status=error.status)
    except strict_json.UnreadableJson as error:
        said = f"This is not JSON that can be stored: {error.why}."
        return _editor(request, project_id, replace(draft, error=said), present, status=Invalid.status)
    except AppError as error:
        return _editor(request, project_id, replace(draft, error=error.message), present, status=error.status)
    secrets = sum(stored.redacted.values())
    taken_out = f" Secrets in it that were not stored: {secrets}." if secrets else ""
    done = f"Saved as rev {stored.entry.rev}.{taken_out}{overridden(project_id)}"
    return toast_response(request, done, page=_address(stored.entry))


def _put(request: HttpRequest, project_id: uuid.UUID, draft: Draft) -> Stored:
    value, replaced = strict_json.loads(draft.text.encode(), within="value")
    sent = exact_value(draft.text.encode()) if replaced else NOTHING
    revised = Conditions(if_match=draft.match) if draft.match else Conditions(if_none_match="*")
    return entrie_services.put_entry(
        caller=signed_in_caller(request),
        project_id=project_id,
        entry=NewEntry(draft.namespace, draft.key, value, sent),
        conditions=revised,
        run_id=By.PERSON,
    )


def _editor(
    request: HttpRequest, project_id: uuid.UUID, draft: Draft, present: MemoryEntry | None = None, *, status: int = 200
) -> HttpResponse:
    known = {"draft": draft, "namespace": draft.namespace, "entry": present, "most_bytes": settings.MAX_BODY_BYTES}
    return page(request, project_id, "entries/editor", known, status=status)


def _indented(text: str) -> str:
    """The indented JSON; a damaged value unchanged, so that it can be repaired."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def _address(entry: EntryRow) -> str:
    return reverse("memory_entry", args=[entry.project_id, entry.namespace, entry.key])


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise Invalid("This form was incomplete. Reload the page.", details={"field": "rev"})
    return int(text)
