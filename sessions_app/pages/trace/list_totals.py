"""What the rows of a list show of tokens and time, and the request for what is still being counted."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.chats.reading.session_lists import own_sessions
from sessions_app.chats.reading.session_totals import Meter, session_totals
from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.core.web.page_context import signed_in_caller

MOST_ROWS = 100
# A page asks so many times, each time later: 1 s, 2 s, 4 s …
ROUNDS = 7


@dataclass(frozen=True, slots=True)
class RowTotals:
    """`meter`: None while it is counted. `ask`: the address to ask for all rows that wait, after `seconds`; one row has it."""

    id: uuid.UUID
    meter: Meter | None
    ask: str = ""
    seconds: int = 1


def list_totals(rows: Sequence[SessionRow], *, asked: int = 0) -> dict[uuid.UUID, RowTotals]:
    known = session_totals.known(rows)
    waiting = [row.id for row in rows if row.message_count and row.id not in known][:MOST_ROWS]
    shown = {row.id: RowTotals(row.id, known.get(row.id)) for row in rows}
    if waiting and asked < ROUNDS:
        address = f"{reverse('session_totals')}?of={','.join(map(str, waiting))}&asked={asked + 1}"
        shown[waiting[0]] = RowTotals(waiting[0], None, address, 2**asked)
    return shown


@login_required
@never_cache
@require_safe
def session_totals_page(request: HttpRequest) -> HttpResponse:
    """`?of=`: the sessions whose totals a list waits for, the asking row first."""
    ids = [uuid_or_none(name) for name in request.GET.get("of", "").split(",")]
    asked = request.GET.get("asked", "")
    if None in ids or len(ids) > MOST_ROWS or asked not in map(str, range(1, ROUNDS + 1)):
        return HttpResponseBadRequest()
    rows = own_sessions(caller=signed_in_caller(request), ids=[pk for pk in ids if pk is not None])
    found = list_totals(rows, asked=int(asked))
    asking, *others = [found.get(pk, RowTotals(pk, None)) for pk in ids if pk is not None]
    return render(request, "pages/trace/session_totals.html", {"asking": asking, "others": others})
