"""Pages of a project's threads of checkpoints: which there are, which wait for an answer, and the steps of one."""

import uuid
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe

from memory_app.checkpoints.threads import queries, services
from memory_app.core.page_context import page
from memory_app.models import Checkpoint
from memory_app.models.graph_thread import THREAD_BYTES
from sessions_app.core.rendering.blocks.json_tree import render_value
from sessions_app.core.serialization.stored_json import read_object
from sessions_app.core.text import count
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.toasts import toast_response

A_PAGE = 30
# Of the metadata of one page.
MOST_VALUES, MOST_CHARACTERS = 3_000, 100_000


@dataclass(frozen=True, slots=True)
class Step:
    """A checkpoint, and what LangGraph says of it in its metadata. `metadata`: None if there are none, or no room is left."""

    row: Checkpoint
    number: str
    source: str
    metadata: SafeString | None

    @property
    def waits(self) -> bool:
        return bool(getattr(self.row, "waits", False))


@login_required
@require_safe
def threads(request: HttpRequest, project_id: uuid.UUID) -> HttpResponse:
    """Whose names begin with `?q=`, begun before the one with the number `?before=`."""
    prefix, before = request.GET.get("q", "").strip()[:THREAD_BYTES], request.GET.get("before", "")
    rows = queries.list_newest_threads(
        caller=signed_in_caller(request),
        project_id=project_id,
        prefix=prefix,
        before=int(before) if before.isdecimal() and len(before) < 19 else None,
        limit=A_PAGE,
    )
    known = {"threads": rows[:A_PAGE], "next": rows[A_PAGE - 1].pk if len(rows) > A_PAGE else None, "prefix": prefix}
    return page(request, project_id, "threads/list", known, tab="threads")


@login_required
@require_safe
def thread_page(request: HttpRequest, project_id: uuid.UUID, name: str) -> HttpResponse:
    """The steps of a thread, the newest first; those before `?before=` in the namespace `?ns=`."""
    thread = queries.get_thread(caller=signed_in_caller(request), project_id=project_id, name=name)
    before = request.GET.get("before", "")
    place = (request.GET.get("ns", ""), before) if before else None
    rows = queries.list_steps(thread=thread, before=place, limit=A_PAGE)
    steps = _steps(rows[:A_PAGE])
    known = {"thread": thread, "steps": steps, "next": rows[A_PAGE - 1] if len(rows) > A_PAGE else None}
    return page(request, project_id, "threads/detail", known, tab="threads")


def _steps(rows: list[Checkpoint]) -> list[Step]:
    made, room, characters = [], MOST_VALUES, MOST_CHARACTERS
    for row in rows:
        metadata = read_object(row.metadata) or {}
        number, source = metadata.get("step"), metadata.get("source")
        shown = None
        characters -= len(row.metadata)
        if metadata and room > 0 and characters >= 0:
            shown, taken = render_value(metadata, most=room)
            room -= taken
        is_number = isinstance(number, int) and not isinstance(number, bool)
        made.append(Step(row, str(number) if is_number else "", source if isinstance(source, str) else "", shown))
    return made


@login_required
@require_POST
def prune(request: HttpRequest, project_id: uuid.UUID, name: str) -> HttpResponse:
    """Keeps what the graph goes on from."""
    caller = signed_in_caller(request)
    queries.get_thread(caller=caller, project_id=project_id, name=name)
    erased = services.prune_thread(caller=caller, project_id=project_id, name=name)
    kept = "What the graph goes on from stays."
    done = f"Erased: {_checkpoints(erased)}. {kept}" if erased else "There is only what the graph goes on from."
    return toast_response(request, done, page=reverse("thread", args=[project_id, name]))


@login_required
@require_POST
def delete(request: HttpRequest, project_id: uuid.UUID, name: str) -> HttpResponse:
    caller = signed_in_caller(request)
    queries.get_thread(caller=caller, project_id=project_id, name=name)
    erased = services.delete_thread(caller=caller, project_id=project_id, name=name)
    return toast_response(
        request, f"The thread is erased, with {_checkpoints(erased)}.", page=reverse("threads", args=[project_id])
    )


def _checkpoints(number: int) -> str:
    return f"{count(number)} checkpoint{'' if number == 1 else 's'}"
