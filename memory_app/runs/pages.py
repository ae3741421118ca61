"""The runs of a project and the current writer: a part of its settings page."""

import uuid
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from memory_app.core.lease import LeaseHeld
from memory_app.core.page_context import run_name
from memory_app.core.store_queries import get_store
from memory_app.key_value.entries.queries import memory_stats
from memory_app.models import Run
from memory_app.runs import services as run_services
from memory_app.runs.queries import list_run_states
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.core.public_names import now
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.toasts import toast_response

SHOWN = 20


def settings_part(request: HttpRequest, project_id: uuid.UUID) -> dict[str, Any]:
    """What the settings page shows of the project's memory."""
    caller = signed_in_caller(request)
    stats = memory_stats(caller=caller, project_id=project_id)
    return {
        "template": "memory/runs/_settings.html",
        "stats": stats,
        "keys": sum(stats["entries"].values()),
        "limit": settings.PROJECT_BYTES,
        "checkpoint_limit": settings.CHECKPOINT_BYTES,
        "runs": list_run_states(caller=caller, project_id=project_id, limit=SHOWN),
    }


@login_required
@require_POST
def free_lease(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    holder = run_services.free_lease(caller=signed_in_caller(request), project_id=project_id)
    if holder is None:
        return toast_response(request, "Nobody holds the writer's lease.", page=_runs_page(project_id))
    done = f"{_capital(run_name(holder))} is read-only now. The next run that starts is the writer."
    return toast_response(request, done, page=_runs_page(project_id), undo=_undo_address(project_id, holder))


@login_required
@require_POST
def take_over_lease(request: HttpRequest, project_id: uuid.UUID, run_id: uuid.UUID) -> HttpResponse:
    """Makes a read-only run the writer; the former holder's writes are refused. `undoes`, of an Undo: the run that became the
    writer by what is undone, if there is one. Who became it since stays it: there an agent works."""
    caller, former = signed_in_caller(request), get_store(project_id=project_id).holder_at(now())
    undoes = request.GET.get("undoes")
    only_from = None if undoes is None else {run_id, uuid_or_none(undoes) or run_id}
    try:
        state = run_services.take_over(caller=caller, project_id=project_id, run_id=run_id, only_from=only_from)
    except LeaseHeld:
        return toast_response(request, "Not undone: another run is the writer by now.", page=_runs_page(project_id), failed=True)
    done, undo = f"{_capital(run_name(state.run))} is the writer now.", ""
    if former is not None and former.id != run_id:
        done += f" {_capital(run_name(former))} only reads."
        undo = _undo_address(project_id, former, instead_of=state.run)
    return toast_response(request, done, page=_runs_page(project_id), undo=undo)


def _undo_address(project_id: uuid.UUID, holder: Run, *, instead_of: Run | None = None) -> str:
    return reverse("take_over_lease", args=[project_id, holder.id]) + f"?undoes={instead_of.id if instead_of else ''}"


def _runs_page(project_id: uuid.UUID) -> str:
    return reverse("project_settings", args=[project_id]) + "#runs"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
