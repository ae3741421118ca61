"""What tools say in words is so: some clients show a model nothing else."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from mcp_app.core.calls import Call
from mcp_app.core.outcomes import Outcome
from mcp_app.core.tool import run_tool
from mcp_app.tools.catalog import TOOLS
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ChatSession

pytestmark = pytest.mark.django_db
LETTERS = "abcdefghij"


def call(user: User, tool: str, **arguments: Any) -> Outcome:
    return run_tool(TOOLS[tool], Call(caller_of_user(user), "/home/alice/shop"), arguments)


def test_what_is_cut_or_not_read_counts_too(alice: User) -> None:
    for number in range(40):
        name = LETTERS[number % 10] * 3 + LETTERS[number // 10] * 5
        assert "new" in call(alice, "error_record", message=f"TypeError: {name} is missing {'word ' * 50}").text
        call(alice, "handoff_add", kind="decision", text=f"{number}: {'because ' * 30}")
    for budget in (100, 1_000, 100_000):
        assert call(alice, "load_session_context", budget=budget).text.startswith("Session 1 of this project, 40 open errors, ")
        brief = call(alice, "session_brief", budget=budget)
        assert brief.text == "0 plan steps, 0 open todos, 40 decisions, 40 open errors."
        omitted = {each["section"]: each["count"] for each in brief.data["stored"]["omitted"]}
        for section in ("decisions", "errors"):
            assert len(brief.data["stored"][section]) + omitted.get(section, 0) == 40


def test_a_message_that_is_there_already_is_not_one_that_failed(alice: User) -> None:
    def said(text: str) -> str:
        return call(alice, "session_save", messages=[{"id": "1", "role": "assistant", "text": text}]).text

    assert said("The index") == "Saved 1 of 1 messages."
    for text in ("The index", "The"):
        assert said(text) == "Saved 0 of 1 messages. 1 are there already, with the same or a longer text."


def test_what_a_handoff_keeps_of_an_item_is_said(alice: User) -> None:
    def said(**item: Any) -> str:
        return call(alice, "handoff_add", **item).text

    file = {"kind": "file", "text": "shop/cart.py"}
    assert said(**file) == "Added a file."
    assert said(**file, note="The cart.") == "The handoff had this file already."
    assert said(**file, note="The cart.") == "The handoff had this file already."
    assert "`note` stays as it was: yours is not stored" in said(**file, note="Not the cart.")
    decided = {"kind": "decision", "text": "Use an index", "rationale": "fast"}
    said(**decided)
    assert "`rationale` stays as it was: yours is not stored" in said(**decided | {"rationale": "safe"}, rejected=["a scan"])
    assert said(**decided, rejected=["a scan"]) == "The handoff had this decision already."


@pytest.mark.parametrize("tool", ["session_save", "ai_state_save", "session_read"])
def test_an_empty_id_makes_no_session(alice: User, tool: str) -> None:
    """No address of the API could name it."""
    given: dict[str, Any] = {
        "session_save": {"messages": [{"role": "user", "text": "x"}]},
        "ai_state_save": {"ai_id": "claude", "working_notes": "x"},
    }
    outcome = call(alice, tool, session_id="", **given.get(tool, {}))
    assert (outcome.is_error, "`session_id`" in outcome.text) == (True, True)
    assert not ChatSession.objects.exists()
