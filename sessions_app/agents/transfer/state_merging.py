"""Merges two states: `here` is the target's, `there` the source's. Pure."""

from typing import Any

from sessions_app.agents.states.ai_states import PROVENANCE
from sessions_app.core.errors import Invalid
from sessions_app.core.text import folded
from sessions_app.models.agent_states import HISTORY_LENGTH, MOST_TODOS, NOTES_LENGTH

State = dict[str, Any]


class TooMuchTogether(Invalid):
    code, message = "too_much_together", "The merged state is too large. Shorten one of the two, or overwrite."


def without_provenance(state: State) -> State:
    """The state as its AI wrote it."""
    return {name: value for name, value in state.items() if name not in PROVENANCE}


def provenance(source: str, at: str, *states: State) -> State:
    """The origin of a state, and its earlier transfers: the newest 50, oldest first."""
    stations = [station for state in states for station in _stations(state)]
    through = sorted({(station["at"], station["from"]) for station in stations})[-HISTORY_LENGTH:]
    earlier = {"transferred_through": [{"from": origin, "at": when} for when, origin in through]} if through else {}
    return {"transferred_from": source, "transferred_at": at, **earlier}


def merged_ai_states(here: State, there: State, *, there_is_newer: bool, heading: str) -> State:
    """Todos united by content, notes appended under the heading, the newer summary; in the target's order."""
    older, newer = (here, there) if there_is_newer else (there, here)
    merged = {**here}
    if "todos" in here or "todos" in there:
        merged["todos"] = _united(here.get("todos", []), there.get("todos", []), there_is_newer=there_is_newer)
    if notes := _notes(here.get("working_notes", ""), there.get("working_notes", ""), heading):
        merged["working_notes"] = notes
    if summary := newer.get("context_summary") or older.get("context_summary"):
        merged["context_summary"] = summary
    if len(merged.get("todos", [])) > MOST_TODOS:
        raise TooMuchTogether(details={"field": "todos", "limit": MOST_TODOS})
    if len(merged.get("working_notes", "")) > NOTES_LENGTH:
        raise TooMuchTogether(details={"field": "working_notes", "limit": NOTES_LENGTH})
    return merged


def merged_agent_states(here: State, there: State, *, there_is_newer: bool) -> State:
    """Takes each field from the newer state; but an open question takes precedence over another one that was answered. Of the
    same question in both states an answer counts."""
    older, newer = (here, there) if there_is_newer else (there, here)
    merged = {**older, **newer}
    asked = [state["pending_action"] for state in (newer, older) if "pending_action" in state]
    if asked:
        choose = max if len({action.get("id") for action in asked}) == 1 else min
        merged["pending_action"] = choose(asked, key=lambda action: "resolution" in action)
    return merged


def _stations(state: State) -> list[State]:
    earlier: list[State] = state.get("transferred_through", [])
    if "transferred_from" not in state:
        return earlier
    return [*earlier, {"from": state["transferred_from"], "at": state["transferred_at"]}]


def _united(here: list[State], there: list[State], *, there_is_newer: bool) -> list[State]:
    """Every todo once. For a todo in both, the newer state's status wins."""
    found: dict[str, State] = {}
    for todo in here:
        found.setdefault(folded(todo["content"]), todo)
    for todo in there:
        same = found.get(key := folded(todo["content"]), {})
        found[key] = {**same, **todo} if there_is_newer else {**todo, **same}
    return list(found.values())


def _notes(here: str, there: str, heading: str) -> str:
    """Both notes, unless one already contains the other, line by line."""
    if _stands_in(there, here):
        return here
    if _stands_in(here, there):
        return there
    return f"{_trimmed(here)}\n\n{heading}\n\n{_trimmed(there)}"


def _stands_in(text: str, other: str) -> bool:
    return f"\n{_trimmed(text)}\n" in f"\n{_trimmed(other)}\n" or not text.strip()


def _trimmed(text: str) -> str:
    return text.strip("\n")
