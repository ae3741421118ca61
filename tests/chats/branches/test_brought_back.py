"""A save that truncates messages and says them again under their ids, as clients edit that know no branches; and one that
removes what it has added. In a session with branches both keep the tree whole.
"""

from typing import Any

import pytest

from tests.chats.branches.test_branches import head, ids, move, tree
from tests.support.chat import Chat
from tests.support.saves import Writer, delete, patch, pop, truncate, upsert

pytestmark = pytest.mark.django_db


@pytest.fixture
def answered(chat: Chat) -> Chat:
    """m1, m2 and two answers of m2: a1 and, on the path, a2."""
    chat.ops(upsert("m1", "one"), upsert("m2", "two"), upsert("a1", "an answer"))
    chat.ops(upsert("a2", "another answer", parent_id="m2"))
    return chat


@pytest.fixture
def rooted(chat: Chat) -> Chat:
    """m1, m2 and m3, which are on the path, beside another beginning: each of them has a link."""
    chat.ops(upsert("m1", "one"), upsert("r1", "another beginning", parent_id=None))
    chat.ops(upsert("m2", "two", parent_id="m1"), upsert("m3", "three", parent_id="m2"))
    move(chat, "m3")
    return chat


def to(chat: Chat, message_id: str) -> list[str]:
    """The path to a message."""
    return [item["id"] for item in chat.get(f"messages?head={message_id}").json()["items"]]


def restore(chat: Chat, message_id: str) -> None:
    assert chat.post_plain(f"removed/{message_id}/restore", {}).status_code == 200


def test_another_answer_of_a_question_that_is_edited_stays_behind_it(answered: Chat) -> None:
    saved = answered.ops(truncate("m1"), upsert("m2", "two, edited"), base_rev=100)
    assert (saved["head"], ids(answered)) == ("m2", ["m1", "m2"])
    assert tree(answered) == {"m1": None, "m2": "m1", "a1": "m2"}
    assert to(answered, "a1") == ["m1", "m2", "a1"]
    assert move(answered, "a1").status_code == 200
    assert answered.texts() == ["one", "two, edited", "an answer"]
    restore(answered, "a2")
    assert tree(answered) == {"m1": None, "m2": "m1", "a1": "m2", "a2": "m2"}


@pytest.mark.parametrize("session", ["answered", "rooted"])
def test_in_the_order_in_which_they_are_said_again(session: str, request: pytest.FixtureRequest) -> None:
    chat: Chat = request.getfixturevalue(session)
    last = ids(chat)[-1]
    chat.ops(truncate("m1"), upsert("n1", "before"), upsert(last, "last"), upsert("m2", "two, edited"), base_rev=100)
    assert ids(chat) == ["m1", "n1", last, "m2"]
    assert (to(chat, "m2"), head(chat)) == (ids(chat), "m2")
    aside = {"a1": ["m1", "n1", "a2", "m2", "a1"], "r1": ["r1"]}
    [other] = tree(chat).keys() & aside.keys()
    assert to(chat, other) == aside[other]


def test_under_the_parent_that_it_names(rooted: Chat) -> None:
    rooted.ops(truncate("m1"), upsert("n1", "beside"), upsert("m2", "two", parent_id="m1"), base_rev=100)
    assert tree(rooted) == {"m1": None, "r1": None, "n1": "m1", "m2": "m1"}
    assert ids(rooted) == ["m1", "m2"]


def test_behind_what_the_cut_has_spared(rooted: Chat) -> None:
    rev = rooted.read()["session"]["rev"]
    Writer(rooted).save(upsert("s1", "of another"))
    saved = rooted.ops(truncate("m1"), upsert("m2", "two, edited"), base_rev=rev)
    assert saved["spared"] == ["s1"]
    assert ids(rooted) == to(rooted, "m2") == ["m1", "s1", "m2"]


@pytest.mark.parametrize("session", ["answered", "rooted"])
def test_removed_again_it_is_restored_where_it_was(session: str, request: pytest.FixtureRequest) -> None:
    chat: Chat = request.getfixturevalue(session)
    before, shown = tree(chat), ids(chat)
    [*_, last] = shown
    chat.ops(truncate("m1"), upsert("m2", "two, edited"), delete("m2"), base_rev=100)
    assert ids(chat) == ["m1"]
    restore(chat, "m2")
    restore(chat, last)
    assert (tree(chat), ids(chat)) == (before, shown)


def test_a_removed_answer_follows_its_question_again(answered: Chat) -> None:
    """So does what names it as its parent until then."""
    answered.ops(delete("a1"), base_rev=100)
    answered.ops(truncate("m1"), upsert("m2", "two, edited"), base_rev=100)
    answered.ops(upsert("x", "answers a1", parent_id="a1"))
    assert to(answered, "x") == ["m1", "m2", "x"]
    restore(answered, "a1")
    assert to(answered, "x") == ["m1", "m2", "a1", "x"]


def test_what_names_a_removed_answer_of_it_meanwhile_follows_the_message_before_it(answered: Chat) -> None:
    answered.ops(delete("a1"), base_rev=100)
    answered.ops(truncate("m1"), upsert("x", "answers a1", parent_id="a1"), upsert("m2", "two, edited"), base_rev=100)
    assert ids(answered) == ["m1", "x", "m2"]
    restore(answered, "a1")
    assert tree(answered) == {"m1": None, "x": "m1", "m2": "x", "a1": "m2"}


def test_that_names_what_followed_it_does_not_follow_itself(rooted: Chat) -> None:
    ops = [truncate("m1"), upsert("m2", "two"), patch("m2", parent_id="m3")]
    rooted.ops(*ops, base_rev=100)
    assert (ids(rooted), to(rooted, "m2")) == (["m1", "m2"], ["m1", "m2"])
    rooted.ops(delete("m2"), base_rev=100)
    restore(rooted, "m2")
    assert (ids(rooted), tree(rooted)) == (["m1", "m2"], {"m1": None, "r1": None, "m2": "m1"})


@pytest.mark.parametrize("again", [delete("n1"), pop()], ids=["delete", "pop"])
@pytest.mark.parametrize("session", ["answered", "rooted"])
def test_what_a_save_adds_and_removes_can_be_restored(session: str, again: Any, request: pytest.FixtureRequest) -> None:
    chat: Chat = request.getfixturevalue(session)
    before, shown = tree(chat), ids(chat)
    chat.ops(upsert("n1", "not for long"), again)
    assert (tree(chat), ids(chat)) == (before, shown)
    move(chat, "m1")
    restore(chat, "n1")
    assert ids(chat) == to(chat, "n1") == ["m1", "n1"]
    assert tree(chat) == {**before, "n1": "m1"}


def test_a_version_that_is_edited_and_removed_at_once_has_no_neighbours(answered: Chat) -> None:
    answered.ops(upsert("a3", "third", parent_id="m2"))
    saved = answered.ops(upsert("a1", "edited"), delete("a1"), base_rev=100)
    assert (saved["head"], saved["siblings"]) == ("a3", {})
    assert tree(answered).keys() == {"m1", "m2", "a2", "a3"}


def test_a_version_that_the_cap_drops_at_once_has_no_neighbours(answered: Chat, settings: Any) -> None:
    settings.SESSION_CAP = 2
    saved = answered.ops(*(upsert(f"n{number}", "again", parent_id=None) for number in range(4)))
    assert saved["dropped"] == ["m1", "m2", "a1", "a2", "n0", "n1"]
    assert saved["siblings"].keys() == {"n2", "n3"}


def test_what_waits_in_the_trunk_moves_under_its_parent_as_all_that_waits(chat: Chat) -> None:
    chat.ops(upsert("m1", "one"), upsert("m2", "two"), upsert("m3", "three"))
    chat.ops(patch("m2", parent_id="x"))
    assert (head(chat), ids(chat)) == (..., ["m1", "m2", "m3"])  # It has no branches.
    chat.ops(upsert("x", "between", parent_id="m1"))
    assert tree(chat) == {"m1": None, "x": "m1", "m2": "x", "m3": "m2"}
    assert (head(chat), ids(chat)) == ("m3", ["m1", "x", "m2", "m3"])


def test_what_is_restored_where_the_trunk_ends_stands_beside_what_went_on_without_it(chat: Chat) -> None:
    """That names another parent, so nothing says that it belongs behind."""
    chat.ops(upsert("m1", "one"), upsert("m2", "two"))
    chat.ops(upsert("a1", "an answer", parent_id="nowhere"))
    chat.ops(delete("m2"))
    restore(chat, "m2")
    assert tree(chat) == {"m1": None, "a1": "m1", "m2": "m1"}
    assert (head(chat), ids(chat)) == ("a1", ["m1", "a1"])
