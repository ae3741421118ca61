"""Pages of a project's threads of checkpoints: which there are, which wait for an answer, and the steps and state of one."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe

from memory_app.checkpoints.queries import CheckpointNotFound
from memory_app.checkpoints.rows import Place
from memory_app.checkpoints.threads import queries, services
from memory_app.checkpoints.threads.state_previews import StatePreview, last_message_lines, preview_state
from memory_app.core.page_context import page
from memory_app.models import Checkpoint, GraphThread
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
class ListedThread:
    """`preview`: the beginning of the last message, if there is a short list of messages."""

    thread: GraphThread
    preview: str


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

    @property
    def failed(self) -> bool:
        return bool(getattr(self.row, "failed", False))


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
    lines = last_message_lines(rows[:A_PAGE])
    listed = [ListedThread(row, lines.get(row.pk, "")) for row in rows[:A_PAGE]]
    known = {"threads": listed, "next": rows[A_PAGE - 1].pk if len(rows) > A_PAGE else None, "prefix": prefix}
    return page(request, project_id, "threads/list", known, tab="threads")


@login_required
@require_safe
def thread_page(request: HttpRequest, project_id: uuid.UUID, name: str) -> HttpResponse:
    """The steps of a thread, the newest first, and the state of the newest one, or of `?checkpoint=` in the namespace `?ns=`.
    `?before=`: only the steps before this one in `?ns=`."""
    thread = queries.get_thread(caller=signed_in_caller(request), project_id=project_id, name=name)
    before = request.GET.get("before", "")
    place = (request.GET.get("ns", ""), before) if before else None
    rows = queries.list_steps(thread=thread, before=place, limit=A_PAGE)
    steps = _steps(rows[:A_PAGE])
    state = None if before else _state(thread, rows, (request.GET.get("ns", ""), request.GET.get("checkpoint", "")))
    known = {
        "thread": thread,
        "steps": steps,
        "next": rows[A_PAGE - 1] if len(rows) > A_PAGE else None,
        "state": state,
        "state_number": "" if state is None else _number(state.metadata),
        "is_newest": state is not None and (state.ns, state.checkpoint_id) == _newest(thread, rows),
    }
    return page(request, project_id, "threads/detail", known, tab="threads")


def _newest(thread: GraphThread, rows: list[Checkpoint]) -> Place | None:
    """Of the whole graph, if there is one; else of a graph in it."""
    if newest := getattr(thread, "newest", None):
        return "", newest
    return (rows[0].ns, rows[0].checkpoint_id) if rows else None


def _state(thread: GraphThread, rows: list[Checkpoint], asked: Place) -> StatePreview | None:
    """At this place, or without an id, of the newest checkpoint. Raises CheckpointNotFound."""
    place = asked if asked[1] else _newest(thread, rows)
    state = None if place is None else preview_state(thread, place)
    if state is None and asked[1]:
        raise CheckpointNotFound
    return state


def _number(metadata: dict[str, Any]) -> str:
    """Of a step; "" if the metadata say none."""
    number = metadata.get("step")
    return str(number) if isinstance(number, int) and not isinstance(number, bool) else ""


def _steps(rows: list[Checkpoint]) -> list[Step]:
    made, room, characters = [], MOST_VALUES, MOST_CHARACTERS
    for row in rows:
        metadata = read_object(row.metadata) or {}
        source, shown = metadata.get("source"), None
        characters -= len(row.metadata)
        if metadata and room > 0 and characters >= 0:
            shown, taken = render_value(metadata, most=room)
            room -= taken
        made.append(Step(row, _number(metadata), source if isinstance(source, str) else "", shown))
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
