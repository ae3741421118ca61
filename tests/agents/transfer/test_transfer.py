"""AI states carried over from one session to another, and what is refused."""

import uuid
from typing import Any

import pytest

from sessions_app.models import ChatSession
from tests.support.chat import Chat
from tests.support.saves import refusal
from tests.support.transfers import PLAN, ai, carried, carry, everything, save_ai, todo

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(chat: Chat) -> Chat:
    """A session in another project."""
    return Chat(chat.api, project="/home/alice/other")


def test_transfer_between_sessions(chat: Chat, other: Chat) -> None:
    whole: dict[str, Any] = {"todos": [todo("Test", activeForm="Testing")], "working_notes": "Focus", "context_summary": "So far"}
    save_ai(chat, **whole)
    save_ai(chat, "gemini", working_notes="mine")
    answer = carried(chat, other, ai_ids=["claude"])
    assert (answer["to_session"], answer["replaced"]) == (other.id, [])
    assert answer["carried"] == [{"kind": "ai_state", "ai_id": "claude", "how": "added", "rev": 1}]
    there = ai(other)
    assert {name: there[name] for name in whole} == whole
    assert there["transferred_from"] == chat.id
    assert chat.read()["session"]["created_at"] <= there["transferred_at"] <= there["updated_at"]
    assert [item["ai_id"] for item in other.get("ai-states").json()["items"]] == ["claude"]
    assert ai(chat)["rev"] == 1


def test_by_default_every_ai_s_state_is_copied_and_nothing_else(chat: Chat, other: Chat) -> None:
    for name in ("lars", "claude"):
        save_ai(chat, name, working_notes=name)
    chat.say("m1", "stays here", opening_step="brainstorm")
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": PLAN})
    assert [item["ai_id"] for item in carried(chat, other)["carried"]] == ["claude", "lars"]
    read = other.read()
    assert (read["messages"], read["session"]["opening_step"], read["session"]["rev"]) == ([], "", 0)
    assert other.api.head(f"/sessions/{other.id}/agent-state").status_code == 404


def test_what_stands_in_the_way_is_named_and_nothing_is_done(chat: Chat, other: Chat) -> None:
    for each in (chat, other):
        save_ai(each, working_notes=each.project)
        each.api.put(f"/sessions/{each.id}/agent-state", {"context": each.project})
        each.ops(opening_step=each.project[-5:])
    save_ai(chat, "free", working_notes="could go")
    before = everything(chat, other)
    answer = carry(chat, other, include=["ai_states", "agent_state", "opening_step", "messages"])
    assert refusal(answer) == (409, "target_has_state")
    assert answer.json()["error"]["details"]["in_the_way"] == [
        {"kind": "ai_state", "ai_id": "claude", "rev": 1},
        {"kind": "agent_state", "rev": 1},
        {"kind": "opening_step", "value": "other"},
    ]
    assert everything(chat, other) == before


def test_overwrite_and_what_stood_there_stays_in_history(chat: Chat, other: Chat) -> None:
    save_ai(chat, working_notes="new")
    save_ai(other, working_notes="old", todos=[todo("gone")])
    answer = carried(chat, other, on_conflict="overwrite")
    assert answer["replaced"] == [{"kind": "ai_state", "ai_id": "claude", "rev": 1}]
    assert (ai(other)["working_notes"], "todos" in ai(other)) == ("new", False)
    restored = other.api.post(f"/sessions/{other.id}/ai-states/claude/history/1/restore").json()
    assert (restored["working_notes"], restored["todos"]) == ("old", [todo("gone")])


def test_merge_unites_todos_appends_notes_and_takes_the_newer_summary(chat: Chat, other: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "First try"})
    save_ai(chat, todos=[todo("Write  Tests", "completed"), todo("Sell")], working_notes="from there", context_summary="older")
    save_ai(other, todos=[todo("Build"), todo("write tests")], working_notes="from here", context_summary="newer")
    assert carried(chat, other, on_conflict="merge")["carried"][0]["how"] == "merged"
    merged = ai(other)
    assert [item["content"] for item in merged["todos"]] == ["Build", "write tests", "Sell"]
    assert merged["context_summary"] == "newer"
    here, heading, there = merged["working_notes"].split("\n\n")
    assert (here, there) == ("from here", "from there")
    assert heading.startswith(f"## From session “First try” ({chat.id}), 2")
    save_ai(chat, todos=[todo("write tests", "completed")], context_summary="newest")
    carried(chat, other, on_conflict="merge")
    assert ai(other)["context_summary"] == "newest"
    assert {item["content"]: item["status"] for item in ai(other)["todos"]}["write tests"] == "completed"


def test_a_merge_again_adds_nothing(chat: Chat, other: Chat) -> None:
    save_ai(chat, todos=[todo("a")], working_notes="from there", context_summary="there")
    save_ai(other, todos=[todo("b")], working_notes="from here")
    carried(chat, other, on_conflict="merge")
    first = ai(other)
    assert carried(chat, other, on_conflict="merge")["carried"] == [
        {"kind": "ai_state", "ai_id": "claude", "how": "same", "rev": 2}
    ]
    assert ai(other) == first


def test_a_merge_that_would_be_too_long_is_refused(chat: Chat, other: Chat) -> None:
    for each in (chat, other):
        save_ai(each, working_notes=each.id * 2_000)
    before = everything(chat, other)
    answer = carry(chat, other, on_conflict="merge")
    assert refusal(answer) == (422, "too_much_together")
    assert answer.json()["error"]["details"]["field"] == "working_notes"
    assert everything(chat, other) == before


def test_provenance_is_kept_through_a_chain(chat: Chat, other: Chat) -> None:
    third = Chat(chat.api, project="/home/alice/third")
    save_ai(chat, working_notes="words")
    carried(chat, other)
    second_at = ai(other)["transferred_at"]
    carried(other, third)
    found = ai(third)
    assert found["transferred_from"] == other.id
    assert found["transferred_through"] == [{"from": chat.id, "at": second_at}]
    save_ai(third, working_notes="new words")
    assert ai(third)["transferred_through"] == [{"from": chat.id, "at": second_at}]


def test_the_same_transfer_again_gets_the_same_answer(chat: Chat, other: Chat) -> None:
    save_ai(chat, working_notes="words")
    step = {"mode": "move", "epoch": 1, "writer_id": chat.writer, "seq": 1}
    first = carry(chat, other, **step)
    chat.api.delete(f"/sessions/{other.id}?purge=1")
    again = carry(chat, other, **step)
    assert (again.status_code, again.content, again["Idempotent-Replayed"]) == (200, first.content, "true")
    assert refusal(carry(chat, other, **step, on_conflict="merge")) == (422, "seq_reused")


def test_a_copy_with_a_number_makes_one_session(chat: Chat) -> None:
    answers = [carry(chat, to_project=chat.project, writer_id="w", seq=1).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert ChatSession.objects.count() == 2


def test_a_move_of_an_epoch_that_is_over_moves_nothing(chat: Chat, other: Chat) -> None:
    save_ai(chat, working_notes="words")
    chat.clear()
    assert refusal(carry(chat, other, mode="move", epoch=1, writer_id="w", seq=1)) == (409, "stale_epoch")
    assert other.get("ai-states").json()["items"] == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"to_session": "SELF"}, 422),
        ({"to_session": "OTHER", "to_project": "/home/alice/other"}, 422),
        ({"to_session": "OTHER", "mode": "move"}, 422),
        ({"to_session": "OTHER", "include": []}, 422),
        ({"to_session": "OTHER", "include": ["memory"]}, 422),
        ({"to_session": "OTHER", "ai_ids": ["nobody"]}, 422),
        ({"to_session": "OTHER", "ai_ids": ["No Name"]}, 422),
        ({"to_session": "OTHER", "on_conflict": "ask"}, 422),
        ({"to_session": "no id"}, 404),
        ({"to_session": str(uuid.uuid4())}, 404),
        ({"to_project": "/home/alice/unknown"}, 404),
    ],
)
def test_what_cannot_be_carried_is_refused(chat: Chat, other: Chat, body: Any, status: int) -> None:
    save_ai(chat, working_notes="words")
    named = {"SELF": chat.id, "OTHER": other.id}
    asked = {name: named.get(value, value) if isinstance(value, str) else value for name, value in body.items()}
    before = everything(chat, other)
    assert carry(chat, None, **asked).status_code == status
    assert everything(chat, other) == before


def test_nothing_goes_to_what_is_somebody_else_s(chat: Chat, api: Any, bob: Any, alice: Any) -> None:
    his = Chat(api(bob), project="/home/bob/shop")
    save_ai(chat, working_notes="words")
    foreign, unknown = (carry(chat, to_session=place) for place in (his.id, str(uuid.uuid4())))
    assert (foreign.status_code, foreign.content) == (404, unknown.content)
    assert carry(chat, to_project=his.project).status_code == 404
    limited = api(alice, project_path=chat.project)
    other = Chat(chat.api, project="/home/alice/other")
    for place in ({"to_session": other.id}, {"to_project": other.project}):
        assert limited.post(f"/sessions/{chat.id}/transfer", place).status_code == 404


def test_a_target_in_the_trash_takes_nothing(chat: Chat, other: Chat) -> None:
    save_ai(chat, working_notes="words")
    chat.api.delete(f"/sessions/{other.id}")
    assert refusal(carry(chat, other)) == (410, "session_deleted")
    assert chat.api.delete(f"/sessions/{chat.id}").status_code == 204
    assert carry(chat, other).status_code == 410
