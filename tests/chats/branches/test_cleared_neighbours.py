"""Two sessions with the same ids, started over alike: what comes back in one leaves the other as it is."""

from typing import Any

import pytest

from sessions_app.models import ConflictCopy
from tests.support.chat import Chat
from tests.support.saves import delete, upsert

pytestmark = pytest.mark.django_db


@pytest.fixture
def twin(chat: Chat) -> Chat:
    return Chat(chat.api, project=chat.project)


def tree(chat: Chat) -> dict[str, Any]:
    """What each message follows; it names the same as its parent."""
    items = every_message(chat)
    assert all(item.get("parent_id", item["follows"]) == item["follows"] for item in items)
    return {item["id"]: item["follows"] for item in items}


def every_message(chat: Chat) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = chat.get("messages?branches=1&limit=500").json()["items"]
    return items


def late(chat: Chat, text: str) -> None:
    op = upsert("m2", text, role="assistant", status="streaming")
    chat.post("changes", seq=50, writer_id="late", epoch=1, ops=[op])


def test_who_follows_a_renamed_message_follows_it_by_its_new_name(chat: Chat, twin: Chat) -> None:
    for each in (chat, twin):
        each.ops(upsert("m1", "one"), upsert("m2", "two"))
        each.ops(upsert("e2", "edited", parent_id="m1"), upsert("g2", "answered"))
        each.clear()
        each.ops(upsert("m1", "new"), upsert("n2", "said since"), epoch=2)
        each.ops(upsert("f2", "edited since", parent_id="m1"), epoch=2)
    before = tree(twin)
    assert chat.undo(of=1, epoch=2)["renamed"] == [{"from": "m1", "to": "m1~1"}]
    assert tree(chat) == {"m1~1": None, "m2": "m1~1", "e2": "m1~1", "g2": "e2", "m1": "g2", "n2": "m1", "f2": "m1"}
    assert tree(twin) == before == {"m1": None, "n2": "m1", "f2": "m1"}
    twin.undo(of=1, epoch=2)
    assert tree(twin) == tree(chat)


@pytest.mark.parametrize("since", [1, 3])
def test_who_names_a_renamed_message_as_parent_names_it_so_without_branches_too(chat: Chat, since: int) -> None:
    chat.ops(upsert("m1", "one"), upsert("m2", "two", parent_id="m1"), upsert("m3", "three", parent_id="m2"))
    chat.clear()
    chat.ops(*(upsert(f"m{number}", "since") for number in (1, 4, 5, 6)[: since + 1]), epoch=2)
    chat.ops(upsert("n", "since", parent_id=f"m{since + 3}"), epoch=2)
    chat.undo(of=1, epoch=2)
    named = {item["id"]: item.get("parent_id") for item in every_message(chat)}
    assert named == {"m1~1": None, "m2": "m1~1", "m3": "m2", **dict.fromkeys([*named][3:-1]), "n": f"m{since + 3}"}


@pytest.mark.parametrize("edited", [True, False])
@pytest.mark.parametrize("since", [1, 4])
def test_beginnings_since_follow_what_comes_back(chat: Chat, edited: bool, since: int) -> None:
    """Whether there were branches before or only since, and where most of the messages are."""
    chat.ops(upsert("m1", "one"), upsert("m2", "two"))
    if edited:
        chat.ops(upsert("e2", "edited", parent_id="m1"))
    chat.clear()
    chat.ops(*(upsert(f"n{number}", "said since") for number in range(since)), epoch=2)
    chat.ops(upsert("r0", "said otherwise", parent_id=None), epoch=2)
    chat.undo(of=1, epoch=2)
    last = "e2" if edited else "m2"
    before = {"m1": None, "m2": "m1", **({"e2": "m1"} if edited else {})}
    follows = {item["id"]: item["follows"] for item in every_message(chat)}
    assert follows == {**before, "n0": last, **{f"n{n}": f"n{n - 1}" for n in range(1, since)}, "r0": last}
    assert chat.texts() == ["one", "edited" if edited else "two", "said otherwise"]


def test_late_words_of_another_session_stay_there(chat: Chat, twin: Chat) -> None:
    for each in (chat, twin):
        each.ops(upsert("m1", "hello"), upsert("m2", "one", role="assistant"))
        each.clear()
    late(twin, "one two three")
    chat.undo(of=1, epoch=2)
    assert (chat.texts(), [copy["text"] for copy in twin.conflicts()]) == (["hello", "one"], ["one two three"])


@pytest.mark.parametrize("change", [{"settled_at": "2026-11-01T00:00:00Z"}, {"reason": "conflict"}])
def test_what_is_settled_or_was_a_conflict_before_is_not_taken_in(chat: Chat, change: dict[str, str]) -> None:
    chat.ops(upsert("m1", "hello"), upsert("m2", "one", role="assistant"))
    chat.clear()
    late(chat, "one two")
    ConflictCopy.objects.update(**change)
    chat.undo(of=1, epoch=2)
    assert chat.texts() == ["hello", "one"]


def test_one_late_text_that_fits_nothing_does_not_keep_another_out(chat: Chat) -> None:
    chat.ops(upsert("m1", "hello"), upsert("m2", "one", role="assistant"))
    chat.clear()
    chat.post("changes", seq=50, writer_id="late too", epoch=1, ops=[upsert("m1", "hello, and more")])
    late(chat, "one two")
    chat.undo(of=1, epoch=2)
    assert (chat.texts(), [copy["text"] for copy in chat.conflicts()]) == (["hello", "one two"], ["hello, and more"])


def test_a_late_answer_keeps_its_place_in_the_tree(chat: Chat) -> None:
    chat.ops(upsert("m1", "hello"), upsert("m3", "other", role="assistant"))
    chat.ops(upsert("m2", "one", role="assistant", parent_id="m1"))
    chat.clear()
    late(chat, "one two")
    chat.undo(of=1, epoch=2)
    assert (chat.texts(), tree(chat)["m2"]) == (["hello", "one two"], "m1")


def test_the_one_that_follows_a_renamed_message_is_of_its_session_and_not_deleted(chat: Chat, twin: Chat) -> None:
    chat.ops(upsert("m1", "one"), upsert("gone", "deleted"))
    chat.ops(delete("gone", if_ver=1))
    chat.ops(upsert("m3", "three", parent_id="m1"))
    twin.ops(upsert("m1", "one"), upsert("m2", "two"))
    chat.clear()
    chat.ops(upsert("m1", "since"), epoch=2)
    chat.undo(of=1, epoch=2)
    named = {item["id"]: item.get("parent_id") for item in every_message(chat)}
    assert named == {"m1~1": None, "m3": "m1~1", "m1": None}


def test_who_reads_changes_is_told_of_the_parents_that_an_undo_fills_in(chat: Chat) -> None:
    chat.ops(upsert("m1", "one"), upsert("m2", "two"), upsert("e2", "edited", parent_id="m1"))
    chat.clear()
    rev = chat.ops(upsert("n1", "since"), upsert("n2", "since"), epoch=2)["rev"]
    chat.undo(of=1, epoch=2)
    changed = {item["id"]: item.get("parent_id") for item in chat.get(f"messages?since_rev={rev}").json()["items"]}
    assert (changed.get("n1"), changed.get("n2")) == ("e2", "n1")
