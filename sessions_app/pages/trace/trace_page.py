"""`/sessions/{id}/trace/`: a session as runs, turns and tool calls, with time, model and tokens as bars."""

import time
import uuid
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.chats.reading.messages import page_after
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.chats.reading.trace_entries import Entry, entry_of
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.models import ChatSession, Message
from sessions_app.pages.trace.spans import runs_of, top_tools, totals_of, turns_of
from sessions_app.projects.queries import get_project

# A page ends after so many messages, or so much time.
MESSAGES_A_PAGE, SECONDS = 200, 0.15
MESSAGES_A_READ = 25
TOP_TOOLS = 12


@dataclass(frozen=True, slots=True)
class TracePage:
    """Entries of whole turns. `next`: the position after which it goes on; None: there is no more."""

    entries: list[Entry]
    next: int | None


@login_required
@never_cache
@require_safe
def trace(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """The turns after the position `?after=`."""
    caller = signed_in_caller(request)
    session = get_session(caller=caller, session_id=session_id)
    after = request.GET.get("after", "")
    start = int(after) if after.isdecimal() and len(after) < 19 else 0
    page = _read(session, start)
    turns = turns_of(page.entries)
    context = {
        "session": session,
        "name": ChatSession.objects.name_of(session),
        "project": get_project(caller=caller, project_id=session.project_id),
        "here": session.project_id,
        "runs": runs_of(turns),
        "totals": totals_of(turns),
        "tools": top_tools(page.entries, TOP_TOOLS),
        "after": start,
        "next": page.next,
    }
    return render(request, "pages/trace/trace.html", context)


def _read(session: SessionRow, after: int) -> TracePage:
    """Ends before the last turn if that may go on, unless it is the only one."""
    items, until, position = [], time.monotonic() + SECONDS, after
    while True:
        page = page_after(session_id=session.id, live=session.live, position=position, limit=MESSAGES_A_READ)
        items += page.items
        more = page.more and bool(page.items)
        position = page.items[-1]["position"] if page.items else position
        if not more or len(items) >= MESSAGES_A_PAGE or time.monotonic() > until:
            break
    writers = _writers(session, after, position)
    entries = [entry_of(item, writers.get(item["position"])) for item in items]
    if not more:
        return TracePage(entries, None)
    last = next((number for number in range(len(entries) - 1, 0, -1) if entries[number].asks), len(entries))
    return TracePage(entries[:last], entries[last - 1].position)


def _writers(session: SessionRow, after: int, last: int) -> dict[int, str | None]:
    rows = Message.objects.filter(session_id=session.id, epoch=session.live.epoch, removed="", aside=None)
    return dict(rows.filter(position__gt=after, position__lte=last).values_list("position", "writer_id"))
