"""Which tools were called in a user's sessions, how often that failed, and how often a call was only repeated.

What a call was is in the parts of messages, so these are read, the newest first, a piece at a time and within a time limit. The
next reader counts on where this one ended.
"""

import time
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode

import orjson
from django.core.cache import caches
from django.urls import reverse

from sessions_app.chats.search.text_matching import in_pieces
from sessions_app.core.storage.sql import as_uuid, db_time, fetch_row, fetch_rows
from sessions_app.formats.neutral import Part, ToolCallPart, ToolResultPart, parts_of
from sessions_app.models.times import now
from sessions_app.pages.session.parts.foreign_parts import as_known

DAYS = 30
# Messages of all users that one statement looks at, and seconds for one request.
PIECE, SECONDS = 5_000, 0.03
KEPT_SECONDS = 300
MOST_TOOLS = 200
SHOWN = 12
# SQLite keeps the order of a CROSS JOIN; else it would begin each piece with all sessions of the user.
_HEADS = """
SELECT m.id, m.size_bytes FROM sessions_app_message m
CROSS JOIN sessions_app_chatsession s CROSS JOIN sessions_app_project p
WHERE m.id > %s AND m.id <= %s AND m.removed = '' AND m.parts IS NOT NULL AND m.created_at >= %s
AND s.id = m.session_id AND s.epoch = m.epoch AND s.deleted_at IS NULL
AND p.id = s.project_id AND p.deleted_at IS NULL AND p.owner_id = %s ORDER BY m.id DESC
"""
_PARTS = """
SELECT s.project_id, m.session_id, m.message_id, m.position, m.parts FROM sessions_app_message m
JOIN sessions_app_chatsession s ON s.id = m.session_id WHERE m.id IN ({}) ORDER BY m.id DESC
"""

type Place = tuple[uuid.UUID, str, int]
type CallKey = tuple[uuid.UUID, str]


@dataclass(slots=True)
class ToolFigure:
    """`last`, `last_failed`, `last_repeated`: the newest call of each kind."""

    name: str
    calls: int = 0
    failed: int = 0
    repeated: int = 0
    last: Place | None = None
    last_failed: Place | None = None
    last_repeated: Place | None = None

    @property
    def failed_percent(self) -> int:
        return _percent(self.failed, self.calls)

    @property
    def repeated_percent(self) -> int:
        return _percent(self.repeated, self.calls)

    @property
    def links(self) -> dict[str, str]:
        """Addresses of the newest call, failed call and repeated call."""
        places = {"last": self.last, "failed": self.last_failed, "repeated": self.last_repeated}
        return {name: _address(place) for name, place in places.items() if place is not None}


@dataclass(slots=True)
class ToolCounts:
    """`tools` by project and name. Counted are the messages with numbers above `low`. A repeated call has the tool and the input
    of another one of its session; the first one is not a repetition."""

    low: int
    tools: dict[tuple[uuid.UUID, str], ToolFigure] = field(default_factory=dict)
    # Results come after their calls, so they are read before them: whether each was a failure.
    results: dict[CallKey, bool] = field(default_factory=dict)
    # The newest call with an input that no older one had yet: its message by a hash of session, tool and input. The cache copies
    # this at every look, and there is one for each call.
    newest: dict[int, tuple[str, int]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return self.low == 0

    def figures(self, project_id: uuid.UUID | None) -> list[ToolFigure]:
        """Of all projects or of one, those with the most calls first."""
        summed: dict[str, ToolFigure] = {}
        for (project, name), one in self.tools.items():
            if project_id not in {None, project}:
                continue
            whole = summed.setdefault(name, ToolFigure(name))
            whole.calls, whole.failed, whole.repeated = (
                whole.calls + one.calls,
                whole.failed + one.failed,
                whole.repeated + one.repeated,
            )
            whole.last = whole.last or one.last
            whole.last_failed = whole.last_failed or one.last_failed
            whole.last_repeated = whole.last_repeated or one.last_repeated
        return sorted(summed.values(), key=lambda one: (-one.calls, one.name))

    def add(self, project: uuid.UUID, place: Place, parts: Any) -> None:
        """The parts of the next older message."""
        own = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        # In a message a result is behind its call as well.
        for made in reversed([one for part in own for one in _calls_and_results(part)]):
            if isinstance(made, ToolResultPart) and made.id:
                self.results[place[0], made.id] = made.is_error
            elif isinstance(made, ToolCallPart):
                self._add_call(project, place, made)

    def forget_messages(self) -> None:
        """What only counting on needs: one entry for each call."""
        self.results.clear()
        self.newest.clear()

    def _add_call(self, project: uuid.UUID, place: Place, call: ToolCallPart) -> None:
        if len(self.tools) >= MOST_TOOLS and (project, call.name) not in self.tools:
            return
        figure = self.tools.setdefault((project, call.name), ToolFigure(call.name))
        figure.calls += 1
        figure.last = figure.last or place
        if self.results.pop((place[0], call.id or ""), False):
            figure.failed += 1
            figure.last_failed = figure.last_failed or place
        print_of_call = hash((place[0], call.name, orjson.dumps(call.input, option=orjson.OPT_SORT_KEYS)))
        if (later := self.newest.get(print_of_call)) is not None:
            figure.repeated += 1
            figure.last_repeated = figure.last_repeated or (place[0], *later)
        self.newest[print_of_call] = place[1:]


def count_tools(*, user_id: int) -> ToolCounts:
    """Of the last 30 days, in all projects of a user. Not `complete`: the time limit was reached; the next call counts on."""
    key = f"tools:{user_id}"
    found: ToolCounts | None = caches["process"].get(key)
    if found is None:
        found = ToolCounts(low=(fetch_row("SELECT MAX(id) FROM sessions_app_message") or [0])[0] or 0)
    if not found.complete:
        _count_on(found, user_id)
        if found.low == 0:
            found.forget_messages()
        caches["process"].set(key, found, KEPT_SECONDS)
    return found


def _count_on(found: ToolCounts, user_id: int) -> None:
    """At least one piece, so that every look gets further."""
    since, until = db_time(now() - timedelta(days=DAYS)), time.monotonic() + SECONDS
    while found.low > 0:
        low = max(0, found.low - PIECE)
        for some in in_pieces(fetch_rows(_HEADS, [low, found.low, since, user_id])):
            for project, session, message_id, position, parts in fetch_rows(_PARTS.format(", ".join(["%s"] * len(some))), some):
                found.add(as_uuid(project), (as_uuid(session), message_id, position), _read(parts))
            found.low = some[-1] - 1
            if time.monotonic() > until:
                return
        found.low = low
        if time.monotonic() > until:
            return


def _calls_and_results(part: dict[str, Any]) -> list[Part]:
    known = as_known(part)
    result = known.get("result") if known.get("type") == "tool_call" else None
    return [*parts_of(known), *(parts_of(result) if isinstance(result, dict) else [])]


def _read(parts: Any) -> Any:
    try:
        return orjson.loads(parts) if isinstance(parts, str) else parts
    except orjson.JSONDecodeError:
        return None


def _percent(part: int, whole: int) -> int:
    """At least 1 if there is any."""
    return max(1, round(100 * part / whole)) if part else 0


def _address(place: Place) -> str:
    session, message_id, position = place
    at = urlencode({"at": message_id}, quote_via=quote)
    return f"{reverse('session', args=[session])}?{at}#message-{position}"
