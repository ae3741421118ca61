"""An answer counts for the question that it was given to: agents often use the same ids, and a transfer brings two together."""

from typing import Any

import pytest

from sessions_app.models import AgentState
from tests.support.chat import Chat
from tests.support.saves import refusal
from tests.support.transfers import carried, carry, everything

pytestmark = pytest.mark.django_db
DROP = {"id": "q1", "kind": "approve", "payload": "Drop the tables?"}
PUBLISH = {"id": "q1", "kind": "approve", "payload": "Publish the page?"}


@pytest.fixture
def other(chat: Chat) -> Chat:
    return Chat(chat.api, project="/home/alice/other")


def ask(chat: Chat, question: dict[str, Any], **more: Any) -> Any:
    return chat.api.put(f"/sessions/{chat.id}/agent-state", {"pending_action": question, **more})


def answer(chat: Chat) -> None:
    assert chat.api.post(f"/sessions/{chat.id}/agent-state/pending-action/q1/resolve", {"decision": "approve"}).status_code == 200


def shown(chat: Chat) -> Any:
    return chat.get("agent-state").json()["pending_action"]


def waited_for(chat: Chat) -> Any:
    return chat.get("agent-state/pending-action/q1").json()


@pytest.mark.parametrize("keep", [True, False])
def test_an_answer_is_not_one_to_another_question_under_its_id(chat: Chat, keep: bool) -> None:
    ask(chat, PUBLISH)
    answer(chat)
    act = chat.api.patch if keep else chat.api.put
    refused = act(f"/sessions/{chat.id}/agent-state", {"pending_action": DROP})
    assert refusal(refused) == (409, "question_taken")
    assert refused.json()["error"]["details"] == {"id": "q1"}
    assert shown(chat)["payload"] == waited_for(chat)["payload"] == "Publish the page?"
    assert ask(chat, {**DROP, "id": "q2"}).status_code == 200


def test_an_earlier_version_comes_back_without_the_question_that_another_one_replaced(chat: Chat) -> None:
    ask(chat, DROP, context="earlier")
    ask(chat, PUBLISH)
    answer(chat)
    restored = chat.api.post(f"/sessions/{chat.id}/agent-state/history/1/restore").json()
    assert (restored["context"], "pending_action" in restored) == ("earlier", False)
    assert waited_for(chat)["payload"] == "Publish the page?"


@pytest.mark.parametrize("on_conflict", ["overwrite", "merge"])
@pytest.mark.parametrize("mode", ["copy", "move"])
def test_a_question_does_not_get_the_answer_that_the_target_s_own_has(
    chat: Chat, other: Chat, on_conflict: str, mode: str
) -> None:
    ask(other, PUBLISH)
    answer(other)
    ask(chat, DROP)
    before = everything(chat, other)
    step = {"mode": mode, "epoch": 1, "writer_id": "mover", "seq": 1}
    refused = carry(chat, other, include=["agent_state"], on_conflict=on_conflict, **step)
    assert refusal(refused) == (409, "question_taken")
    assert everything(chat, other) == before
    assert (waited_for(chat)["status"], waited_for(other)["payload"]) == ("pending", "Publish the page?")


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("newer", ["source", "target"])
def test_a_merge_loses_neither_of_two_questions_with_one_id(chat: Chat, other: Chat, answered: bool, newer: str) -> None:
    ask(other, PUBLISH)
    ask(chat, DROP)
    if answered:
        answer(chat)
    older = chat if newer == "target" else other
    AgentState.objects.filter(session__id=older.id).update(saved_at="2026-01-01T00:00:00Z")
    assert refusal(carry(chat, other, include=["agent_state"], on_conflict="merge")) == (409, "question_taken")
    assert shown(other) == PUBLISH
    assert (waited_for(other)["payload"], waited_for(other)["status"]) == ("Publish the page?", "pending")


def test_a_question_that_nobody_answered_is_overwritten(chat: Chat, other: Chat) -> None:
    ask(other, PUBLISH)
    ask(chat, DROP)
    carried(chat, other, include=["agent_state"], on_conflict="overwrite")
    assert shown(other) == DROP
    assert (waited_for(other)["payload"], waited_for(other)["status"]) == ("Drop the tables?", "pending")


def test_the_answer_to_a_copied_question_is_shown_where_the_two_are_merged(chat: Chat, other: Chat) -> None:
    ask(chat, DROP)
    carried(chat, other, include=["agent_state"])
    answer(chat)
    carried(chat, other, include=["agent_state"], on_conflict="merge")
    assert shown(other)["resolution"]["decision"] == "approve"
    assert waited_for(other)["resolution"] == shown(other)["resolution"]


def test_where_nothing_may_be_overwritten_the_whole_state_is_in_the_way(chat: Chat, other: Chat) -> None:
    ask(other, PUBLISH)
    answer(other)
    ask(chat, DROP)
    assert refusal(carry(chat, other, include=["agent_state"])) == (409, "target_has_state")
