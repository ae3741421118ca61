"""What two states say together holds all that each of them said."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sessions_app.services.folding import folded
from sessions_app.services.state_merging import merged_agent_states, merged_ai_states

CONTENT = st.sampled_from(["Test", " test", "TEST  it", "test it", "ship", "Straße", "STRASSE", "\tship\n"]) | st.text(min_size=1)
TODO = st.fixed_dictionaries(
    {"content": CONTENT, "status": st.sampled_from(["pending", "in_progress", "completed"])},
    optional={"activeForm": st.text(), "priority": st.integers()},
)
NOTES = st.text(alphabet="ab \n#", max_size=30) | st.text(max_size=20)
AI_STATE = st.fixed_dictionaries(
    {}, optional={"todos": st.lists(TODO, max_size=6), "working_notes": NOTES, "context_summary": st.text(max_size=5)}
)
AGENT_STATE = st.dictionaries(st.sampled_from(["context", "plan", "pr_data", "last_error"]), st.integers())
HEADING = "## From there"


def words(state: dict[str, Any]) -> set[str]:
    return {folded(todo["content"]) for todo in state.get("todos", [])}


@given(here=AI_STATE, there=AI_STATE, newer=st.booleans())
@settings(deadline=None)
def test_no_todo_note_or_newest_word_is_lost(here: dict[str, Any], there: dict[str, Any], newer: bool) -> None:
    merged = merged_ai_states(here, there, there_is_newer=newer, heading=HEADING)
    assert words(merged) == words(here) | words(there)
    assert len(merged.get("todos", [])) == len(words(merged))
    for line in [*here.get("working_notes", "").split("\n"), *there.get("working_notes", "").split("\n")]:
        assert line in merged.get("working_notes", "") or not line.strip()
    first, second = (there, here) if newer else (here, there)
    summary = first.get("context_summary") or second.get("context_summary")
    assert merged.get("context_summary", "") == (summary or "")
    status = {folded(todo["content"]): todo["status"] for todo in merged.get("todos", [])}
    for todo in reversed(first.get("todos", [])):
        last = [other["status"] for other in first["todos"] if folded(other["content"]) == folded(todo["content"])]
        assert status[folded(todo["content"])] in last


@given(here=AI_STATE, there=AI_STATE, newer=st.booleans())
@settings(deadline=None)
def test_merging_again_changes_nothing(here: dict[str, Any], there: dict[str, Any], newer: bool) -> None:
    merged = merged_ai_states(here, there, there_is_newer=newer, heading=HEADING)
    again = merged_ai_states(merged, there, there_is_newer=newer, heading=HEADING)
    assert again == merged


@given(here=AGENT_STATE, there=AGENT_STATE, newer=st.booleans())
@settings(deadline=None)
def test_of_an_agent_s_state_every_field_stays_and_the_newer_counts(here: Any, there: Any, newer: bool) -> None:
    merged = merged_agent_states(here, there, there_is_newer=newer)
    first, second = (there, here) if newer else (here, there)
    assert merged == {**second, **first}
