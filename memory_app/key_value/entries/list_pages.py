"""Pages of a project's memory: namespaces, keys, and deleted entries."""

import uuid

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from memory_app.core.lease import By
from memory_app.core.namespaces import as_shown
from memory_app.core.page_context import overridden, page
from memory_app.key_value.entries import queries
from memory_app.key_value.entries import services as entrie_services
from memory_app.key_value.entries.namespace_queries import list_namespaces
from memory_app.models.entry import KEY_LENGTH
from sessions_app.core.web.page_context import rows_asked, signed_in_caller
from sessions_app.core.web.toasts import toast_response

A_PAGE, MOST_AT_ONCE = 100, 500
MOST_NAMESPACES = 1_000


@login_required
@require_safe
def memory(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    caller = signed_in_caller(request)
    found = list_namespaces(caller=caller, project_id=project_id, limit=MOST_NAMESPACES)
    namespaces, more = found[:MOST_NAMESPACES], len(found) > MOST_NAMESPACES
    deleted = queries.list_deleted(caller=caller, project_id=project_id)
    known = {"namespaces": namespaces, "more": more, "deleted": deleted, "limit": settings.PROJECT_BYTES}
    return page(request, project_id, "entries/namespaces", known)


@login_required
@require_safe
def memory_keys(request: HttpRequest, project_id: uuid.UUID, namespace: str) -> HttpResponse:
    # The cursor is a key as it is, which may begin or end with a space.
    prefix, after = request.GET.get("prefix", "").strip()[:KEY_LENGTH], request.GET.get("cursor", "")[:KEY_LENGTH]
    limit = rows_asked(request, A_PAGE, MOST_AT_ONCE)
    rows = queries.list_keys(
        caller=signed_in_caller(request), project_id=project_id, namespace=namespace, prefix=prefix, after=after, limit=limit
    )
    following = rows[limit - 1]["key"] if len(rows) > limit else None
    known = {"namespace": namespace, "prefix": prefix, "keys": rows[:limit], "next": following}
    return page(request, project_id, "entries/keys", known)


@login_required
@require_POST
def undelete_entry(request: HttpRequest, project_id: uuid.UUID, deleted_id: uuid.UUID) -> HttpResponse:
    stored = entrie_services.undelete_entry(
        caller=signed_in_caller(request), project_id=project_id, deleted_id=deleted_id, run_id=By.PERSON
    )
    address = reverse("memory_entry", args=[project_id, stored.entry.namespace, stored.entry.key])
    return toast_response(
        request, f"{as_shown(stored.entry.namespace)} / {stored.entry.key} is back.{overridden(project_id)}", page=address
    )
