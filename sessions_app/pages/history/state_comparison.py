"""Plan, todos, notes and handoff of two moments side by side, by words. The time is bounded."""

import time
from dataclasses import dataclass
from datetime import datetime

from sessions_app.agents.handoff.comparison import Piece, words_between
from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.pages.history.comparison import LONGEST
from sessions_app.pages.history.moments import Moment
from sessions_app.pages.history.past_states import PastHandoff, PastState, past_handoff, past_plan, past_todos

# Seconds of CPU for the words of all states: others at work take none of it. What is left then is shown as two texts.
SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class StateSide:
    """`at`: when it was saved; None: it is not kept. `lost`: later versions, not kept, that may have been valid by then."""

    at: datetime | None
    pieces: list[Piece]
    cut: int
    lost: int
    snapshot: int | None


@dataclass(frozen=True, slots=True)
class StatePair:
    """`how`: same, changed, removed (only on the left) or added. `unsure`: a side may have been otherwise at its moment."""

    name: str
    how: str
    left: StateSide | None
    right: StateSide | None

    @property
    def unsure(self) -> bool:
        return any(side is not None and (side.lost or side.at is None) for side in (self.left, self.right))


@dataclass(frozen=True, slots=True)
class _State:
    text: str
    at: datetime | None
    lost: int = 0
    snapshot: int | None = None

    def side(self, pieces: list[Piece]) -> StateSide:
        return StateSide(self.at, pieces, max(0, len(self.text) - LONGEST), self.lost, self.snapshot)


def compared_states(left: tuple[SessionRow, Moment], right: tuple[SessionRow, Moment]) -> list[StatePair]:
    """Plans first, then each AI's todos, then the handoffs of both projects. What neither side has is left out."""
    until = time.thread_time() + SECONDS
    olds, news = _states(*left), _states(*right)
    return [_pair(name, olds.get(name), news.get(name), until) for name in sorted({*olds, *news})]


def _states(session: SessionRow, moment: Moment) -> dict[tuple[int, str], _State]:
    plan, handoff = past_plan(session.id, moment), past_handoff(session.project_id, moment)
    found: dict[tuple[int, str], _State] = {} if plan is None else {(0, "Plan"): _of(plan)}
    found |= {(1, f"Todos of {todos.name}"): _of(todos) for todos in past_todos(session.id, moment)}
    return found if handoff is None else {**found, (2, "Handoff"): _of_handoff(handoff)}


def _of(state: PastState) -> _State:
    lines = [] if state.lines is None else [state.lines.title, *(f"{line.told}: {line.words}" for line in state.lines.items)]
    return _State("\n".join(filter(None, [*lines, state.notes])), state.at, state.lost)


def _of_handoff(handoff: PastHandoff) -> _State:
    return _State("\n".join(filter(None, [handoff.summary, *handoff.decisions])), handoff.at, snapshot=handoff.number)


def _pair(name: tuple[int, str], old: _State | None, new: _State | None, until: float) -> StatePair:
    def make(how: str, *sides: StateSide | None) -> StatePair:
        return StatePair(name[1], how, sides[0], sides[1])

    if old is None or new is None:
        only = [None if state is None else state.side(_whole(kind, state)) for kind, state in (("gone", old), ("new", new))]
        return make("added" if old is None else "removed", *only)
    if old.text == new.text:
        return make("same", old.side(_whole("same", old)), new.side(_whole("same", new)))
    if time.thread_time() > until or max(len(old.text), len(new.text)) > LONGEST:
        return make("changed", old.side(_whole("gone", old)), new.side(_whole("new", new)))
    pieces = words_between(old.text, new.text)
    sides = [state.side([piece for piece in pieces if piece.kind != other]) for state, other in ((old, "new"), (new, "gone"))]
    return make("changed", *sides)


def _whole(kind: str, state: _State) -> list[Piece]:
    return [Piece(kind, state.text[:LONGEST])]
