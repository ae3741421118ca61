"""`/sessions/{id}/compare/?a=…&b=…`: two moments of a session, or two sessions, side by side with their differences."""

import uuid
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.chats.reading.sessions import SessionRow, get_session, session_uuid
from sessions_app.core.errors import NotFound
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.models import Caller, ChatSession, Clearing
from sessions_app.pages.history.comparison import Comparison, Pair, compared
from sessions_app.pages.history.epochs import list_clearings
from sessions_app.pages.history.history_page import number
from sessions_app.pages.history.moments import HIGHEST, Moment
from sessions_app.pages.history.past_messages import PastPage, end_of_page, moment_of, past_page
from sessions_app.pages.history.state_comparison import compared_states
from sessions_app.projects.queries import get_project

A_PAGE = 100
# Messages before the end of the shorter side, where a page begins by itself.
CONTEXT = 20


@dataclass(frozen=True, slots=True)
class Chosen:
    """One side: a session at a moment. `name`: as it is in the address."""

    name: str
    session: SessionRow
    moment: Moment
    clearings: list[Clearing]

    def page(self, before: int) -> PastPage:
        return past_page(self.session, self.moment, self.clearings, before=before, limit=A_PAGE)

    def end(self, after: int) -> int:
        return end_of_page(self.session, self.moment, self.clearings, after=after, limit=A_PAGE)

    @property
    def href(self) -> str:
        return f"{reverse('session_history', args=[self.session.id])}?at={self.moment.rev}"


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring pairs that are all the same, or all not."""

    same: bool
    pairs: list[Pair]


@login_required
@never_cache
@require_safe
def compare(request: HttpRequest, session_id: uuid.UUID) -> HttpResponse:
    """`?a=`, `?b=`: a rev of this session, the id of another one, or `id@rev`; default: the first rev, and the newest.
    `?before=`: only messages before a number."""
    caller = signed_in_caller(request)
    session = get_session(caller=caller, session_id=session_id)
    asked = (request.GET.get("a", "") or "1", request.GET.get("b", "") or str(session.rev))
    left, right = (_chosen(caller, session, name) for name in asked)
    if left is None or right is None:
        return _not_found(request, caller, session, asked, asked[0] if left is None else asked[1])
    context = _sides(left, right, number(request, "before", 0))
    names = ChatSession.objects.names_of([session, left.session, right.session])
    context |= {
        "session": session,
        "name": names[session.id],
        "left_name": names[left.session.id],
        "right_name": names[right.session.id],
        "project": get_project(caller=caller, project_id=session.project_id),
        "here": session.project_id,
    }
    return render(request, "pages/history/compare.html", context)


def _sides(left: Chosen, right: Chosen, before: int) -> dict[str, Any]:
    """What is shown of them. `before`: only messages before this number; 0: the newest ones."""
    pages = [side.page(HIGHEST) for side in (left, right)]
    before = before or _beginning(pages)
    if before < HIGHEST:
        pages = [side.page(before) for side in (left, right)]
    # Both sides begin at the same number.
    lowest = max(page.oldest if page.more else 0 for page in pages)
    pages = [page.since(lowest) for page in pages]
    found = compared(*([one.item for one in page.messages] for page in pages))
    return {
        "left": left,
        "right": right,
        "states": compared_states((left.session, left.moment), (right.session, right.moment)),
        "runs": _runs(found),
        "counts": found.counts,
        "older": lowest if lowest else None,
        "newer": min(left.end(before), right.end(before)) if before < HIGHEST else None,
        "newest": HIGHEST,
        "later": any(one.changed_at is not None for page in pages for one in page.messages),
        "erased": [clearing for page in pages for clearing in page.erased],
    }


def _not_found(request: HttpRequest, caller: Caller, session: SessionRow, asked: tuple[str, str], wrong: str) -> HttpResponse:
    """The form, as it was filled in."""
    project = get_project(caller=caller, project_id=session.project_id)
    context = {"session": session, "name": ChatSession.objects.name_of(session), "project": project, "here": project.id}
    sides = {"left": {"name": asked[0]}, "right": {"name": asked[1]}, "wrong": wrong}
    return render(request, "pages/history/compare.html", context | sides, status=NotFound.status)


def _chosen(caller: Caller, session: SessionRow, name: str) -> Chosen | None:
    """None for a session that is not the caller's."""
    named, _, rev = name.rpartition("@")
    if not named and not rev.isdecimal():
        named, rev = rev, ""
    try:
        found = get_session(caller=caller, session_id=session_uuid(named)) if named else session
    except NotFound:
        return None
    wanted = int(rev) if rev.isdecimal() and len(rev) < 12 else found.rev
    clearings = list_clearings(found.id)
    return Chosen(name, found, moment_of(found, wanted, clearings), clearings)


def _beginning(pages: list[PastPage]) -> int:
    """Where the shorter side ends, if the other one goes on for more than a page."""
    ends = sorted(page.newest for page in pages)
    return ends[0] + A_PAGE - CONTEXT if ends[1] - ends[0] > A_PAGE - CONTEXT else HIGHEST


def _runs(found: Comparison) -> list[Run]:
    return [Run(same, list(pairs)) for same, pairs in groupby(found.pairs, key=lambda pair: pair.how == "same")]
