"""Plan, todos and handoff at a past moment, by the versions that are kept, and what is not known about them."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sessions_app.agents.handoff.queries import content_of
from sessions_app.core.serialization.stored_json import read_object
from sessions_app.models import AgentState, AgentStateVersion, AiState, AiStateVersion, Handoff, HandoffSnapshot
from sessions_app.pages.history.moments import Moment
from sessions_app.pages.session.agent_panel import Lines, plan_lines, todo_lines

MOST_AIS = 50


@dataclass(frozen=True, slots=True)
class Kept:
    """A version as it was saved; content None: it was deleted then, or is damaged."""

    rev: int
    at: datetime
    content: str | None


@dataclass(frozen=True, slots=True)
class PastState:
    """`at`: when it was saved; None: nothing of that time is kept. `lost`: later versions that may have been valid by then, and
    are not kept."""

    name: str
    at: datetime | None = None
    lines: Lines | None = None
    notes: str = ""
    lost: int = 0


@dataclass(frozen=True, slots=True)
class PastHandoff:
    """The live handoff if it did not change since, else the newest snapshot of that time."""

    at: datetime
    number: int | None
    decisions: list[str]
    summary: str


def past_plan(session_id: uuid.UUID, moment: Moment) -> PastState | None:
    """None: there was none."""
    state = AgentState.objects.filter(session_id=session_id).first()
    if state is None:
        return None
    rows = AgentStateVersion.objects.filter(state=state).order_by("rev")
    versions = [Kept(row.rev, row.saved_at, row.content) for row in rows]
    found = _valid([*versions, Kept(state.rev, state.saved_at, state.content)], moment)
    if found is None:
        return None
    valid, lost = found
    if valid is None:
        return PastState("Plan", lost=lost)
    content = read_object(valid.content or "") or {}
    lines = plan_lines(content)
    return PastState("Plan", valid.at, lines, lost=lost) if lines is not None or lost else None


def past_todos(session_id: uuid.UUID, moment: Moment) -> list[PastState]:
    """Of each AI that had a state, in two statements."""
    states = list(AiState.objects.filter(session_id=session_id).order_by("ai_id")[:MOST_AIS])
    kept: dict[int, list[Kept]] = {state.pk: [] for state in states}
    for row in AiStateVersion.objects.filter(state__in=list(kept)).order_by("rev"):
        kept[row.state_id].append(Kept(row.rev, row.updated_at, row.content))
    found = ((state, _valid(_with_present(kept[state.pk], state), moment)) for state in states)
    shown = (_todos(state.ai_id, *valid) for state, valid in found if valid is not None)
    return [state for state in shown if state is not None]


def past_handoff(project_id: uuid.UUID, moment: Moment) -> PastHandoff | None:
    live = Handoff.objects.filter(project_id=project_id).first()
    if live is not None and moment.had(live.updated_at):
        return _handoff(live.updated_at, None, content_of(live))
    rows = HandoffSnapshot.objects.filter(project_id=project_id)
    rows = rows if moment.until is None else rows.filter(created_at__lte=moment.until)
    frozen = rows.order_by("-number").first()
    return None if frozen is None else _handoff(frozen.created_at, frozen.number, read_object(frozen.payload) or {})


def _with_present(versions: list[Kept], state: AiState) -> list[Kept]:
    present = Kept(state.rev, state.updated_at, state.content)
    return versions if versions and versions[-1].rev == state.rev else [*versions, present]


def _valid(versions: Sequence[Kept], moment: Moment) -> tuple[Kept | None, int] | None:
    """The newest kept version that was saved by then, and the number of later ones that are not kept. None: there was none.

    The numbers of versions have no gaps: where one is missing, a version was overwritten or deleted.
    """
    then = [version for version in versions if moment.had(version.at)]
    later = [version for version in versions if not moment.had(version.at)]
    newest = then[-1] if then else None
    lost = later[0].rev - (newest.rev if newest else 0) - 1 if later else 0
    return None if newest is None and not lost else (newest, lost)


def _todos(ai_id: str, valid: Kept | None, lost: int) -> PastState | None:
    if valid is None:
        return PastState(ai_id, lost=lost)
    content = read_object(valid.content or "")
    if content is None:
        return PastState(ai_id, lost=lost) if lost else None
    notes = content.get("working_notes")
    return PastState(ai_id, valid.at, todo_lines(content), notes if isinstance(notes, str) else "", lost)


def _handoff(at: datetime, number: int | None, content: dict[str, Any]) -> PastHandoff | None:
    found = content.get("decisions")
    decisions = [str(item.get("text", "")) for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    summary = content.get("summary")
    made = PastHandoff(at, number, decisions[:100], summary if isinstance(summary, str) else "")
    return made if made.decisions or made.summary or number else None
