"""A merged state contains everything that each of the two states had."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.agents.transfer.state_merging import (
    TooMuchTogether,
    merged_agent_states,
    merged_ai_states,
    provenance,
    without_provenance,
)
from sessions_app.core.text import folded
from sessions_app.models.agent_states import HISTORY_LENGTH, MOST_TODOS, NOTES_LENGTH

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
def test_merging_again_changes_nothing(here: dict[str, Any], there: dict[str, Any], newer: bool) -> None:
    merged = merged_ai_states(here, there, there_is_newer=newer, heading=HEADING)
    again = merged_ai_states(merged, there, there_is_newer=newer, heading=HEADING)
    assert again == merged


@given(here=AGENT_STATE, there=AGENT_STATE, newer=st.booleans())
def test_of_an_agent_s_state_every_field_stays_and_the_newer_counts(here: Any, there: Any, newer: bool) -> None:
    merged = merged_agent_states(here, there, there_is_newer=newer)
    first, second = (there, here) if newer else (here, there)
    assert merged == {**second, **first}


def merge_of_todos(here: Any, there: Any, *, newer: bool = True) -> list[Any]:
    merged = merged_ai_states({"todos": here}, {"todos": there}, there_is_newer=newer, heading=HEADING)
    return list(merged["todos"])


@pytest.mark.parametrize("newer", [True, False])
def test_of_a_todo_in_both_the_newer_state_s_fields_count_and_none_is_lost(newer: bool) -> None:
    here = {"content": "Test it", "status": "pending", "priority": 1, "only_here": 1}
    there = {"content": "test  IT", "status": "completed", "priority": 2, "only_there": 2}
    first = there if newer else here
    assert merge_of_todos([here], [there], newer=newer) == [{**here, **there, **first}]


def test_of_a_state_s_two_todos_of_one_content_the_first_stays_in_its_place() -> None:
    here = [{"content": "a", "status": "completed"}, {"content": "b"}, {"content": "A", "status": "pending"}]
    assert merge_of_todos(here, []) == [{"content": "a", "status": "completed"}, {"content": "b"}]


def test_together_they_have_at_most_so_many_todos() -> None:
    here = [{"content": f"here {number}"} for number in range(MOST_TODOS - 1)]
    assert len(merge_of_todos(here, [{"content": "one more"}])) == MOST_TODOS
    with pytest.raises(TooMuchTogether) as refused:
        merge_of_todos(here, [{"content": "one more"}, {"content": "and another"}])
    assert refused.value.details == {"field": "todos", "limit": MOST_TODOS}


def test_together_their_notes_have_at_most_so_many_characters() -> None:
    apart = len(f"\n\n{HEADING}\n\n")
    here = {"working_notes": "h" * (NOTES_LENGTH - apart - 1)}
    merged = merged_ai_states(here, {"working_notes": "t"}, there_is_newer=True, heading=HEADING)
    assert len(merged["working_notes"]) == NOTES_LENGTH
    with pytest.raises(TooMuchTogether) as refused:
        merged_ai_states(here, {"working_notes": "tt"}, there_is_newer=True, heading=HEADING)
    assert refused.value.details == {"field": "working_notes", "limit": NOTES_LENGTH}


@pytest.mark.parametrize(
    ("here", "there", "together"),
    [
        ("here\n\n", "\nthere\n", f"here\n\n{HEADING}\n\nthere"),
        ("  here X", "X there ", f"  here X\n\n{HEADING}\n\nX there "),
        ("", "there", "there"),
        (" \n", "there", "there"),
        ("here", "", "here"),
        ("one\ntwo\nthree", "two", "one\ntwo\nthree"),
        ("two", "one\ntwo\nthree", "one\ntwo\nthree"),
        # Only whole lines count.
        ("one two", "two", f"one two\n\n{HEADING}\n\ntwo"),
    ],
)
def test_notes_stand_under_each_other_unless_one_holds_the_other(here: str, there: str, together: str) -> None:
    merged = merged_ai_states({"working_notes": here}, {"working_notes": there}, there_is_newer=True, heading=HEADING)
    assert merged == {"working_notes": together}


def test_what_neither_says_is_not_made_up() -> None:
    assert merged_ai_states({}, {}, there_is_newer=True, heading=HEADING) == {}
    only_there = {"todos": [{"content": "a"}], "working_notes": "words", "context_summary": "So far"}
    assert merged_ai_states({}, only_there, there_is_newer=False, heading=HEADING) == only_there
    assert merged_ai_states(only_there, {}, there_is_newer=True, heading=HEADING) == only_there


@pytest.mark.parametrize("newer", [True, False])
@pytest.mark.parametrize("resolved", ["here", "there", "both", "neither"])
def test_an_open_question_goes_before_one_that_was_answered_then_the_newer(newer: bool, resolved: str) -> None:
    def asked(side: str) -> dict[str, Any]:
        answered = {"resolution": {"decision": "approve"}} if resolved in {side, "both"} else {}
        return {"pending_action": {"id": side, **answered}}

    merged = merged_agent_states(asked("here"), asked("there"), there_is_newer=newer)
    kept = {"here": "there", "there": "here"}.get(resolved, "there" if newer else "here")
    assert merged["pending_action"]["id"] == kept


def test_a_question_that_only_the_older_state_asks_stays() -> None:
    asked = {"pending_action": {"id": "a1"}}
    assert merged_agent_states(asked, {"context": 1}, there_is_newer=True) == {**asked, "context": 1}


def test_the_stations_of_both_states_in_the_order_of_time_the_newest_fifty() -> None:
    def station(number: int) -> dict[str, str]:
        return {"from": f"s{number}", "at": f"2026-01-01T00:00:{number:02}Z"}

    there = {"transferred_through": [station(2), station(1)], "transferred_from": "s3", "transferred_at": station(3)["at"]}
    here = {"transferred_through": [station(1), station(0)]}
    assert provenance("s9", "now", there, here, {"working_notes": "x"}) == {
        "transferred_from": "s9",
        "transferred_at": "now",
        "transferred_through": [station(number) for number in range(4)],
    }
    assert provenance("s9", "now", {}) == {"transferred_from": "s9", "transferred_at": "now"}
    many = {"transferred_through": [station(number) for number in range(HISTORY_LENGTH + 5)]}
    assert provenance("s9", "now", many)["transferred_through"] == many["transferred_through"][5:]


def test_what_an_ai_wrote_is_all_but_where_it_comes_from() -> None:
    wrote = {"working_notes": "words", "todos": []}
    came = {"transferred_from": "a", "transferred_at": "b", "transferred_through": []}
    assert without_provenance({**wrote, **came}) == wrote
