"""Messages with a parent: where they are placed, which path is shown, and what a change of one does to the others."""

from typing import Any

import pytest

from tests.support.chat import Chat
from tests.support.saves import Writer, delete, patch, pop, truncate, upsert

pytestmark = pytest.mark.django_db


def ids(chat: Chat) -> list[str]:
    return [message["id"] for message in chat.read()["messages"]]


def head(chat: Chat) -> Any:
    return chat.read()["session"].get("head", ...)


def tree(chat: Chat) -> dict[str, Any]:
    """What each message follows, of all branches."""
    return {item["id"]: item["follows"] for item in chat.get("messages?branches=1&limit=500").json()["items"]}


def move(chat: Chat, message_id: str, **more: Any) -> Any:
    return chat.api.patch(f"/sessions/{chat.id}", {"head": message_id, **more})


@pytest.fixture
def four(chat: Chat) -> Chat:
    """m1 to m4 in a line, saved without parents."""
    for number in range(1, 5):
        chat.say(f"m{number}", f"text {number}")
    return chat


@pytest.fixture
def edited(four: Chat) -> Chat:
    """m3 was edited: e3 beside it, answered by e4."""
    four.ops(upsert("e3", "edited", parent_id="m2"))
    four.say("e4", "answer")
    return four


def test_a_parent_that_is_the_newest_message_makes_no_branch(four: Chat) -> None:
    answer = four.ops(upsert("m5", "x", parent_id="m4"), upsert("m6", "y", parent_id="m5"), upsert("m7", "z"))
    assert "head" not in answer
    assert head(four) is ...
    assert ids(four) == ["m1", "m2", "m3", "m4", "m5", "m6", "m7"]


@pytest.mark.parametrize("named", [upsert("x", "edited", parent_id="m2"), upsert("m4", "moved", parent_id="m2")])
@pytest.mark.parametrize("others", [[], [upsert("m1", "edited"), upsert("y", "last"), upsert("m2", "edited")]])
def test_one_message_that_names_its_parent_makes_a_branch(four: Chat, named: Any, others: list[Any]) -> None:
    four.ops(*others[:1], named, *others[1:])
    assert (ids(four), tree(four)[named["id"]]) == (["m1", "m2", named["id"], *(["y"] if others else [])], "m2")


def test_an_edit_is_a_sibling_and_becomes_the_head(edited: Chat) -> None:
    assert ids(edited) == ["m1", "m2", "e3", "e4"]
    assert head(edited) == "e4"
    assert tree(edited) == {"m1": None, "m2": "m1", "m3": "m2", "m4": "m3", "e3": "m2", "e4": "e3"}


def test_siblings_are_numbered_in_the_order_in_which_they_were_saved(edited: Chat) -> None:
    edited.ops(upsert("f3", "again", parent_id="m2"))
    shown = {message["id"]: message.get("siblings") for message in edited.read()["messages"]}
    assert shown == {"m1": None, "m2": None, "f3": {"index": 3, "count": 3, "previous": "e3", "next": None}}
    move(edited, "e3")
    [*_, last] = edited.read()["messages"]
    assert last["siblings"] == {"index": 2, "count": 3, "previous": "m3", "next": "f3"}


def test_the_first_message_has_siblings_too(four: Chat) -> None:
    four.ops(upsert("n1", "other", parent_id=None))
    assert ids(four) == ["n1"]
    assert four.read()["messages"][0]["siblings"]["count"] == 2
    assert move(four, "m4").status_code == 200
    assert ids(four) == ["m1", "m2", "m3", "m4"]


def test_the_head_moves_to_any_live_message(edited: Chat) -> None:
    moved = move(edited, "m4").json()
    assert moved["head"] == "m4"
    assert ids(edited) == ["m1", "m2", "m3", "m4"]
    assert move(edited, "m1").status_code == 200
    assert ids(edited) == ["m1"]
    assert move(edited, "e3", to_end=True).json()["head"] == "e4"
    assert ids(edited) == ["m1", "m2", "e3", "e4"]


def test_a_session_without_branches_gets_a_head_as_it_is_moved(four: Chat) -> None:
    assert "head" not in move(four, "m4").json()
    assert move(four, "m2").json()["head"] == "m2"
    four.say("n3", "from here")
    assert ids(four) == ["m1", "m2", "n3"]
    assert move(four, "m1", to_end=True).json()["head"] == "n3"


@pytest.mark.parametrize("wrong", ["nothing", "m9"])
def test_the_head_is_a_live_message_of_the_session(edited: Chat, wrong: str) -> None:
    edited.say("m9", "x")
    edited.ops(delete("m9"), base_rev=100)
    refused = move(edited, wrong)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "unknown_message")
    assert head(edited) == "e4"


def test_a_move_may_be_conditional(edited: Chat) -> None:
    etag = edited.api.get(f"/sessions/{edited.id}").headers["ETag"]
    edited.say("e5", "more")
    refused = edited.api.patch(f"/sessions/{edited.id}", {"head": "m4"}, **{"If-Match": etag})
    assert refused.status_code == 412
    now = edited.api.get(f"/sessions/{edited.id}").headers["ETag"]
    assert edited.api.patch(f"/sessions/{edited.id}", {"head": "m4"}, **{"If-Match": now}).status_code == 200


def test_a_save_may_name_the_head(edited: Chat) -> None:
    answer = edited.ops(upsert("f3", "quietly", parent_id="m2"), session={"head": "e4"})
    assert answer["head"] == "e4"
    assert ids(edited) == ["m1", "m2", "e3", "e4"]
    refused = edited.ops(session={"head": "nothing"})
    assert refused["rejected"] == [
        {"id": "nothing", "index": 0, "reason": "unknown_message", "message": "There is no such message in this session."}
    ]


def test_a_message_of_another_branch_does_not_move_the_head(edited: Chat) -> None:
    assert edited.ops(upsert("m5", "late answer", parent_id="m4"))["head"] == "e4"
    assert ids(edited) == ["m1", "m2", "e3", "e4"]
    assert tree(edited)["m5"] == "m4"


def test_two_tabs_that_branch_at_once_keep_both(four: Chat) -> None:
    one, other = Writer(four), Writer(four)
    one.save(upsert("a", "one", parent_id="m4"), base_rev=4)
    assert other.save(upsert("b", "other", parent_id="m4"), base_rev=4)["head"] == "b"
    assert ids(four) == ["m1", "m2", "m3", "m4", "b"]
    assert four.read()["messages"][-1]["siblings"] == {"index": 2, "count": 2, "previous": "a", "next": None}


def test_parents_may_come_after_their_children(four: Chat) -> None:
    four.ops(upsert("c", "third", parent_id="b"))
    assert ids(four) == ["m1", "m2", "m3", "m4", "c"], "until then it follows the head"
    four.ops(upsert("b", "second", parent_id="a"))
    assert ids(four) == ["m1", "m2", "m3", "m4", "b", "c"]
    four.ops(upsert("a", "first", parent_id="m2"))
    assert tree(four) == {"m1": None, "m2": "m1", "m3": "m2", "m4": "m3", "a": "m2", "b": "a", "c": "b"}
    assert ids(four) == ["m1", "m2", "a", "b", "c"]


def test_messages_that_name_each_other_make_no_circle(four: Chat) -> None:
    four.ops(upsert("a", "x", parent_id="b"), upsert("b", "y", parent_id="a"), upsert("s", "z", parent_id="s"))
    assert ids(four) == ["m1", "m2", "m3", "m4", "a", "b", "s"]
    four.ops(patch("m1", parent_id="s"), base_rev=100)
    assert sorted(tree(four)) == ["a", "b", "m1", "m2", "m3", "m4", "s"]


def test_what_follows_a_deleted_message_follows_the_one_before_it_until_it_is_restored(edited: Chat) -> None:
    edited.ops(delete("e3"), base_rev=100)
    assert ids(edited) == ["m1", "m2", "e4"]
    assert tree(edited)["e4"] == "m2"
    assert edited.api.post(f"/sessions/{edited.id}/removed/e3/restore", {}).status_code == 200
    assert ids(edited) == ["m1", "m2", "e3", "e4"]
    assert tree(edited)["e4"] == "e3"


@pytest.mark.parametrize("message_id", ["m1", "m2"])
def test_a_message_that_all_branches_share_is_deleted_and_restored(edited: Chat, message_id: str) -> None:
    edited.ops(delete(message_id), base_rev=100)
    left = [other for other in ("m1", "m2") if other != message_id]
    assert ids(edited) == [*left, "e3", "e4"]
    assert {tree(edited)[other] for other in ("m3", "e3")} == {left[0]}
    edited.api.post(f"/sessions/{edited.id}/removed/{message_id}/restore", {})
    assert tree(edited) == {"m1": None, "m2": "m1", "m3": "m2", "m4": "m3", "e3": "m2", "e4": "e3"}


def test_a_deleted_head_leaves_the_one_before_it(edited: Chat) -> None:
    assert edited.ops(delete("e4"), base_rev=100)["head"] == "e3"
    edited.api.post(f"/sessions/{edited.id}/removed/e4/restore", {})
    assert head(edited) == "e4"


def test_a_truncate_takes_what_follows_on_the_path_and_spares_other_branches(edited: Chat) -> None:
    assert edited.ops(truncate("m2"), base_rev=100)["head"] == "m2"
    assert ids(edited) == ["m1", "m2"]
    assert tree(edited) == {"m1": None, "m2": "m1", "m3": "m2", "m4": "m3"}
    assert edited.ops(truncate("m3"), base_rev=100)["applied"] == [{"id": "m4", "ver": 2, "removed": "truncated"}]


def test_an_empty_path_is_no_lost_session(edited: Chat) -> None:
    assert edited.ops(truncate(None), base_rev=100)["head"] is None
    assert ids(edited) == []
    edited.say("n1", "new")
    assert ids(edited) == ["n1"]
    assert move(edited, "m4").status_code == 200
    assert "m4" in ids(edited)


def test_a_pop_takes_from_the_path(edited: Chat) -> None:
    popped = edited.ops(pop(2))
    assert [message["id"] for message in popped["popped"]] == ["e3", "e4"]
    assert popped["head"] == "m2"


def test_a_clear_and_its_undo_keep_the_branches(edited: Chat) -> None:
    before = tree(edited)
    edited.clear()
    assert (head(edited), ids(edited)) == (..., [])
    edited.say("n1", "since", epoch=2)
    edited.undo(of=1, epoch=2)
    assert ids(edited) == ["m1", "m2", "e3", "e4", "n1"]
    assert tree(edited) == {**before, "n1": "e4"}
    assert move(edited, "m4").status_code == 200
    assert ids(edited) == ["m1", "m2", "m3", "m4"]


def test_branches_since_a_clear_follow_what_an_undo_restores(four: Chat) -> None:
    four.clear()
    four.say("n1", "one", epoch=2)
    four.ops(upsert("o1", "other", parent_id=None), epoch=2)
    four.undo(of=1, epoch=2)
    assert ids(four) == ["m1", "m2", "m3", "m4", "o1"]
    assert four.read()["messages"][-1]["siblings"]["previous"] == "n1"


def test_the_path_to_any_message_is_read_from_its_end(edited: Chat) -> None:
    def page(query: str) -> Any:
        found = edited.get(f"messages?{query}").json()
        return [item["id"] for item in found["items"]], found["next"]

    assert page("head=m4") == (["m1", "m2", "m3", "m4"], None)
    assert page("head=m4&limit=1") == (["m4"], "m4")
    assert page("head=m4&limit=2&before=m4") == (["m2", "m3"], "m2")
    assert page("head=m4&limit=2&before=m2") == (["m1"], None)
    assert page("limit=2") == (["e3", "e4"], "e3")
    assert page("limit=3&branches=1") == (["m4", "e3", "e4"], "m4")
    assert page("after=m2&branches=1") == (["m3", "m4", "e3", "e4"], None)
    for wrong in ("head=m4&after=m1", "head=m4&branches=1", "head=nothing", "head=m4&since_rev=1"):
        assert edited.get(f"messages?{wrong}").status_code == 422, wrong


def test_a_reader_of_changes_is_told_what_left_the_path_and_what_came(edited: Chat) -> None:
    rev = edited.read()["session"]["rev"]
    move(edited, "m4")
    changed = edited.get(f"messages?since_rev={rev}").json()
    assert [item["id"] for item in changed["items"]] == ["m3", "m4"]
    assert (changed["removed"], changed["head"]) == (["e3", "e4"], "m4")
    whole = edited.get(f"messages?since_rev={rev}&branches=1").json()
    assert (len(whole["items"]), whole["removed"]) == (4, [])


def test_a_message_keeps_its_parent_when_an_upsert_does_not_name_it(edited: Chat) -> None:
    answer = edited.ops(upsert("e3", "edited", status="complete"))
    assert answer["ignored"][0]["reason"] == "same"
    assert edited.get("messages/e3").json()["parent_id"] == "m2"


def test_a_patch_of_the_parent_moves_the_message_with_what_follows(edited: Chat) -> None:
    edited.ops(patch("e3", parent_id="m4"))
    assert ids(edited) == ["m1", "m2", "m3", "m4", "e3", "e4"]
    edited.ops(patch("e3", parent_id="e4"))
    assert ids(edited) == ["m1", "m2", "m3", "m4", "e3", "e4"], "it cannot follow itself"


@pytest.mark.parametrize(
    ("up_to", "copied"),
    [("m3", ["m1", "m2", "m3"]), (None, ["m1", "m2", "e3", "e4"]), ("e3", ["m1", "m2", "e3"])],
)
def test_a_fork_is_the_path_to_its_last_message(edited: Chat, up_to: str | None, copied: list[str]) -> None:
    made = edited.api.post(f"/sessions/{edited.id}/fork", {} if up_to is None else {"up_to": up_to}).json()
    fork = Chat(edited.api, session_id=made["id"])
    assert ids(fork) == copied
    assert "head" not in made


def test_a_transfer_carries_all_branches(edited: Chat) -> None:
    other = Chat(edited.api, project="/home/alice/other")
    other.say("x", "already there")
    moved = edited.post("transfer", to_session=other.id, include=["messages"])
    assert moved.status_code == 200, moved.content
    assert ids(other) == ["x", "m1", "m2", "e3", "e4"]
    assert move(other, "m4").status_code == 200
    assert ids(other) == ["x", "m1", "m2", "m3", "m4"]


def test_a_settled_conflict_is_added_at_the_end(edited: Chat) -> None:
    Writer(edited).save(upsert("e3", "mine", parent_id="m2"))
    [copy] = edited.conflicts()
    edited.api.post(f"/sessions/{edited.id}/conflicts/{copy['copy_id']}/settle", {"keep": "both"})
    assert len(ids(edited)) == 5
    assert ids(edited)[:4] == ["m1", "m2", "e3", "e4"]


def test_the_cap_drops_the_oldest_of_all_branches(edited: Chat, settings: Any) -> None:
    settings.SESSION_CAP = 5
    assert edited.say("e5", "more")["dropped"] == ["m1", "m2"]
    assert ids(edited) == ["e3", "e4", "e5"]
    assert tree(edited)["m3"] is None
