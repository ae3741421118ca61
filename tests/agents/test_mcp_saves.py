"""Agents that share a key, or a process, save under the same ids: nobody's words are lost."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from mcp_app.core.calls import Call
from mcp_app.core.tool import run_tool
from mcp_app.tools.catalog import TOOLS
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ConflictCopy, Message

pytestmark = pytest.mark.django_db


def save(user: User, text: str, role: str = "user", **more: Any) -> tuple[str, dict[str, Any]]:
    """What the tool says, and its answer."""
    call = Call(caller_of_user(user), "/home/alice/shop")
    outcome = run_tool(TOOLS["session_save"], call, {"messages": [{"id": "1", "role": role, "text": text, **more}]})
    assert not outcome.is_error, outcome
    return outcome.text, outcome.data


def texts() -> list[str]:
    return [*Message.objects.values_list("text", flat=True), *ConflictCopy.objects.values_list("text", flat=True)]


def test_an_id_that_another_call_used_makes_a_copy(alice: User) -> None:
    save(alice, "The deploy is blocked by the missing index.")
    said, answer = save(alice, "hello")
    assert texts() == ["The deploy is blocked by the missing index.", "hello"]
    copy = ConflictCopy.objects.get()
    assert answer["conflicts"] == [{"id": "1", "copy_id": str(copy.id)}]
    assert said.startswith("Saved 0 of 1 messages. 1 have ids of messages that other calls saved")


def test_a_repeated_call_saves_nothing_twice(alice: User) -> None:
    save(alice, "one")
    assert save(alice, "one")[1]["ignored"] == [{"id": "1", "reason": "same"}]
    assert save(alice, "two")[1]["conflicts"] == save(alice, "two")[1]["conflicts"]
    assert texts() == ["one", "two"]


def test_a_longer_answer_is_the_same_message(alice: User) -> None:
    save(alice, "The index", "assistant")
    assert save(alice, "The index is there.", "assistant")[1]["applied"]
    assert save(alice, "The", "assistant")[1]["ignored"] == [{"id": "1", "reason": "stale"}]
    assert texts() == ["The index is there."]


def test_who_knows_the_version_changes_the_message(alice: User) -> None:
    first = save(alice, "one")[1]["applied"][0]["ver"]
    assert save(alice, "two", if_ver=first)[1]["applied"] == [{"id": "1", "ver": first + 1}]
    assert save(alice, "two", if_ver=first)[1]["ignored"] == [{"id": "1", "reason": "same"}]
    assert save(alice, "three", if_ver=first)[1]["conflicts"]
    assert texts() == ["two", "three"]


def test_a_removed_message_stays_removed_and_the_agent_is_told(alice: User) -> None:
    save(alice, "one")
    Message.objects.update(removed="deleted")
    said, answer = save(alice, "two")
    assert answer["ignored"] == [{"id": "1", "reason": "removed"}]
    assert "1 have ids of removed messages" in said
    assert ConflictCopy.objects.get().text == "two"


def test_an_id_twice_in_one_call_is_refused(alice: User) -> None:
    messages = [{"id": "1", "role": "user", "text": text} for text in ("one", "two")]
    outcome = run_tool(TOOLS["session_save"], Call(caller_of_user(alice), "/home/alice/shop"), {"messages": messages})
    assert outcome.data["error"]["code"] == "repeated_id"
    assert texts() == []
