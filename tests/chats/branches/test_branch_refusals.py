"""Wrong values of `head`, `to_end`, `branches` and `parent_id` are refused, and reach no message of another session."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.api.test_hostile_bodies import JUNK
from tests.chats.branches.test_branches import head, ids, move, tree
from tests.support.chat import Chat
from tests.support.saves import refusal, upsert

pytestmark = pytest.mark.django_db
# Percent-encoded.
ODD = ("", "%00", "%ED%A0%80", "%FF", "..%2F", "%27--", "x" * 65, "%F0%9F%A6%8A", "null", "0", "m1%00")


@pytest.fixture
def edited(chat: Chat) -> Chat:
    """m1, m2; e2 beside m2 is shown."""
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.ops(upsert("e2", "edited", parent_id="m1"))
    return chat


@pytest.fixture
def bob_api(api: Callable[..., Any], bob: User) -> Any:
    return api(bob)


@pytest.mark.parametrize("name", ["head", "to_end"])
def test_a_wrong_head_is_refused_and_moves_nothing(edited: Chat, name: str) -> None:
    """Null leaves the head as it is, as in the other fields."""
    for junk in JUNK:
        answer = edited.api.patch(f"/sessions/{edited.id}", {"head": "e2", name: junk})
        if answer.status_code != 200:
            assert refusal(answer)[0] in {400, 422}, junk
        assert (head(edited), ids(edited)) == ("e2", ["m1", "e2"]), junk


def test_a_wrong_head_in_a_save_is_refused_or_listed_and_the_words_stay(edited: Chat) -> None:
    for number, junk in enumerate(JUNK):
        answer = edited.post("changes", ops=[upsert(f"n{number}", "x", parent_id="m2")], session={"head": junk})
        if answer.status_code != 200:
            assert refusal(answer)[0] in {400, 422}, junk
        else:
            assert answer.json()["applied"], junk
        assert head(edited) == "e2", junk


def test_a_wrong_parent_spoils_only_its_message(edited: Chat) -> None:
    answer = edited.ops(*[upsert(f"n{number}", "x", parent_id=junk) for number, junk in enumerate(JUNK)], upsert("good", "y"))
    stored = {entry["id"] for entry in answer["applied"]}
    assert "good" in stored
    assert stored | {entry["id"] for entry in answer["rejected"]} == {*(f"n{number}" for number in range(len(JUNK))), "good"}
    assert {entry["reason"] for entry in answer["rejected"]} == {"bad_parent_id"}
    assert set(tree(edited)) == {"m1", "m2", "e2", *stored}


@pytest.mark.parametrize("parameter", ["head", "branches", "before", "after"])
def test_wrong_parameters_of_a_read_are_no_fault_of_the_server(edited: Chat, parameter: str) -> None:
    for more in ("", "&branches=1", "&since_rev=1", "&before=m1"):
        for value in ODD:
            answer = edited.get(f"messages?{parameter}={value}{more}")
            assert answer.status_code in {200, 422}, (value, more, answer.content)
            if answer.status_code == 422:
                refusal(answer)


def test_a_message_of_another_session_is_as_unknown_as_any(edited: Chat, bob_api: Any) -> None:
    """Of the same account and of another one: `head` and `parent_id` name messages of this session alone."""
    for other in (Chat(edited.api, project="/home/alice/other"), Chat(bob_api)):
        other.say("theirs", "secret words")
        unknown, known = move(edited, "nothing"), move(edited, "theirs")
        assert (refusal(known), known.json()["error"]["message"]) == (refusal(unknown), unknown.json()["error"]["message"])
        assert edited.get("messages?head=theirs").status_code == edited.get("messages?head=nothing").status_code == 422
        edited.ops(upsert(f"of {other.id}", "x", parent_id="theirs"))
        assert "theirs" not in tree(edited).values()
        assert "secret words" not in str(edited.read())
        assert head(other) is ...


def test_nobody_moves_the_head_of_somebody_elses_session(edited: Chat, bob_api: Any) -> None:
    for path in (f"/sessions/{edited.id}", "/sessions/00000000-0000-4000-8000-000000000000"):
        assert refusal(bob_api.patch(path, {"head": "m2"})) == (404, "not_found")
        for query in ("head=m2", "branches=1"):
            assert refusal(bob_api.get(f"{path}/messages?{query}")) == (404, "not_found")
    assert head(edited) == "e2"


def test_a_message_that_names_no_parent_explicitly_keeps_the_stored_one(edited: Chat) -> None:
    """Clients write back what they read, with null for what their type has and the message has not."""
    edited.ops(upsert("m1", "one, longer", parent_id=None), upsert("e2", "edited twice", parent_id=None), base_rev=100)
    assert (ids(edited), edited.texts()) == (["m1", "e2"], ["one, longer", "edited twice"])
    assert tree(edited) == {"m1": None, "m2": "m1", "e2": "m1"}


def test_a_session_without_branches_gets_none_by_an_upsert_that_names_no_parent(chat: Chat) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.ops(upsert("m2", "two, longer", parent_id=None), upsert("m3", "three", parent_id="m2"))
    assert (head(chat), ids(chat)) == (..., ["m1", "m2", "m3"])
