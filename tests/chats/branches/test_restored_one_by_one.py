"""Messages that come back one by one, and copies that are kept, find their place in a session with branches."""

from typing import Any

import pytest
from django.db.models import Sum

from sessions_app.models import ChatSession, ConflictCopy, Message
from tests.support.chat import Chat
from tests.support.saves import upsert

pytestmark = pytest.mark.django_db


def tree(chat: Chat) -> dict[str, Any]:
    """What each message follows."""
    return {item["id"]: item["follows"] for item in chat.get("messages?branches=1&limit=500").json()["items"]}


def restore(chat: Chat, message_id: str) -> Any:
    answer = chat.post_plain(f"removed/{message_id}/restore", {})
    assert answer.status_code == 200, answer.content
    return answer.json()


def settle(chat: Chat, keep: str) -> str:
    [copy] = chat.conflicts()
    answer = chat.post_plain(f"conflicts/{copy['copy_id']}/settle", {"keep": keep})
    assert answer.status_code == 200, answer.content
    return str(answer.json()["message"])


def another_writes(chat: Chat, message_id: str, text: str) -> None:
    chat.post("changes", writer_id="another", seq=1, ops=[upsert(message_id, text, status="streaming")])


@pytest.fixture
def cleared(chat: Chat) -> Chat:
    """`m1`, `m2` and, beside `m2`, `e2` which was on the path."""
    chat.ops(upsert("m1", "one"), upsert("m2", "two"))
    chat.ops(upsert("e2", "two, edited", parent_id="m1"))
    chat.clear()
    return chat


@pytest.mark.parametrize("message_id", ["m1", "m2", "e2"])
def test_in_a_session_without_branches_each_is_one_of_the_row(cleared: Chat, message_id: str) -> None:
    restore(cleared, message_id)
    cleared.ops(upsert("n1", "new"), epoch=2)
    assert [message["id"] for message in cleared.read()["messages"]] == [message_id, "n1"]
    assert set(Message.objects.filter(epoch=2, removed="").values_list("under", "aside")) == {(None, None)}


def test_after_one_that_got_a_branch_meanwhile_the_next_is_a_branch_too(cleared: Chat) -> None:
    cleared.ops(upsert("n1", "new"), upsert("n2", "newer"), epoch=2)
    cleared.ops(upsert("f2", "newer, edited", parent_id="n1"), epoch=2)
    restore(cleared, "m1")
    assert tree(cleared) == {"m1": None, "n1": "m1", "n2": "n1", "f2": "n1"}
    cleared.ops(upsert("f1", "another beginning", parent_id=None), epoch=2)
    shown = cleared.texts()
    restore(cleared, "m2")
    assert tree(cleared) == {"m1": None, "m2": None, "n1": "m1", "n2": "n1", "f2": "n1", "f1": None}
    assert (shown, cleared.texts()) == (["another beginning"], ["another beginning"])
    assert cleared.api.patch(f"/sessions/{cleared.id}", {"head": "m2"}).status_code == 200
    assert cleared.texts() == ["two"]


def test_between_the_trunk_and_its_branches_it_is_followed_by_all_of_them(cleared: Chat) -> None:
    restore(cleared, "m1")
    cleared.ops(upsert("n1", "new"), epoch=2)
    cleared.ops(upsert("f1", "new, edited", parent_id="m1"), epoch=2)
    restore(cleared, "m2")
    assert tree(cleared) == {"m1": None, "m2": "m1", "n1": "m2", "f1": "m2"}
    assert cleared.texts() == ["one", "two", "new, edited"]
    assert cleared.api.patch(f"/sessions/{cleared.id}", {"head": "n1"}).status_code == 200
    assert cleared.texts() == ["one", "two", "new"]


@pytest.mark.parametrize("since", [0, 1, 6])
@pytest.mark.parametrize("alone", ["m2", "e2", "m1"])
def test_an_undo_puts_what_came_back_alone_where_it_was(cleared: Chat, alone: str, since: int) -> None:
    """Whichever side most of the messages are on. `m1` is of the trunk, `e2` was shown, `m2` was not."""
    restore(cleared, alone)
    if since:
        cleared.ops(*(upsert(f"n{number}", f"new {number}") for number in range(since)), epoch=2)
        cleared.ops(upsert("f", "new, edited", parent_id=f"n{since - 2}" if since > 1 else alone), epoch=2)
    cleared.undo(of=1, epoch=2)
    former = {"m1": None, "m2": "m1", "e2": "m1"}
    assert {message_id: tree(cleared)[message_id] for message_id in former} == former
    answer = cleared.get("messages?head=m2").json()["items"]
    assert [message["text"] for message in answer] == ["one", "two"]
    written = [f"new {number}" for number in range(since - 1)] + ["new, edited"] if since else []
    assert cleared.texts() == ["one", "two, edited", *written]
    assert cleared.api.patch(f"/sessions/{cleared.id}", {"head": "m2"}).status_code == 200
    assert cleared.texts() == ["one", "two"]


def test_what_followed_one_that_came_back_alone_and_was_deleted_follows_it_again(chat: Chat) -> None:
    chat.ops(upsert("m1", "one"), upsert("m2", "two"), upsert("m3", "three"))
    chat.ops(upsert("e2", "two, edited", parent_id="m1"))
    chat.clear()
    restore(chat, "m2")
    chat.ops({"op": "delete", "id": "m2", "if_ver": 1}, epoch=2)
    chat.undo(of=1, epoch=2)
    assert tree(chat) == {"m1": None, "m3": "m1", "e2": "m1"}
    assert chat.texts() == ["one", "two, edited"]
    restore(chat, "m2")
    assert tree(chat) == {"m1": None, "m2": "m1", "m3": "m2", "e2": "m1"}
    assert chat.texts() == ["one", "two, edited"]


def forked_at(chat: Chat, message_id: str, epoch: int = 1) -> None:
    """`m1`, `m2`, `m3` and a second message after `message_id`, which is the last of the trunk."""
    chat.ops(upsert("m1", "one"), upsert("m2", "two"), upsert("m3", "three"), epoch=epoch)
    chat.ops(upsert("e", "edited", parent_id=message_id), epoch=epoch)
    chat.clear(epoch=epoch)


@pytest.mark.parametrize(("alone", "above", "others"), [("m1", None, {"m3": "m2"}), ("m2", "m1", {"m1": None})])
def test_what_followed_one_of_the_trunk_follows_the_one_before_it(
    chat: Chat, alone: str, above: str | None, others: dict[str, Any]
) -> None:
    other = Chat(chat.api, project="/other")
    for each in (chat, other):
        forked_at(each, alone)
    restore(chat, alone)
    chat.ops({"op": "delete", "id": alone, "if_ver": 1}, epoch=2)
    for each in (chat, other):
        each.undo(of=1, epoch=2)
    following = "m2" if alone == "m1" else "m3"
    assert tree(chat) == {following: above, "e": above, **others}
    assert tree(other) == {alone: above, following: alone, "e": alone, **others}
    restore(chat, alone)
    assert tree(chat) == tree(other)


def test_what_followed_another_beginning_begins_itself(chat: Chat) -> None:
    chat.ops(upsert("m1", "one"), upsert("m2", "two"))
    chat.ops(upsert("f1", "another beginning", parent_id=None), upsert("f2", "its answer", parent_id="f1"))
    assert chat.api.patch(f"/sessions/{chat.id}", {"head": "m2"}).status_code == 200
    chat.clear()
    restore(chat, "f1")
    chat.ops({"op": "delete", "id": "f1", "if_ver": 1}, epoch=2)
    chat.undo(of=1, epoch=2)
    assert tree(chat) == {"m1": None, "m2": "m1", "f2": None}


def test_what_one_cleared_epoch_gives_up_is_nothing_to_another(chat: Chat) -> None:
    for epoch in (1, 2):
        forked_at(chat, "m2", epoch)
    answer = chat.post_plain("removed/m2/restore", {"epoch": 2})
    assert answer.status_code == 200, answer.content
    chat.ops({"op": "delete", "id": answer.json()["message"], "if_ver": 1}, epoch=3)
    chat.undo(of=1, epoch=3)
    assert tree(chat) == {"m1": None, "m2~1": "m1", "m3": "m2~1", "e": "m2~1"}


@pytest.mark.parametrize("more", [0, 3])
def test_after_an_undo_another_version_can_be_shown_alone(cleared: Chat, more: int) -> None:
    """`more`: with more messages since than before, the others are moved."""
    cleared.ops(upsert("n1", "new"), *(upsert(f"more {number}", "more") for number in range(more)), epoch=2)
    cleared.undo(of=1, epoch=2)
    assert cleared.texts() == ["one", "two, edited", "new", *["more"] * more]
    assert cleared.api.patch(f"/sessions/{cleared.id}", {"head": "m2"}).status_code == 200
    assert cleared.texts() == ["one", "two"]


def test_an_undo_of_nothing_leaves_branches_as_they_are(chat: Chat) -> None:
    chat.clear()
    chat.ops(upsert("m1", "one"), upsert("m2", "two"), epoch=2)
    chat.ops(upsert("e1", "one, edited", parent_id=None), epoch=2)
    before = tree(chat)
    chat.undo(of=1, epoch=2)
    assert (tree(chat), chat.texts()) == (before, ["one, edited"])


def size(chat: Chat) -> int:
    return int(ChatSession.objects.values_list("size_bytes", flat=True).get(id=chat.id))


@pytest.mark.parametrize("since", [0, 5])
def test_an_undo_after_all_came_back_one_by_one_adds_no_bytes(cleared: Chat, since: int) -> None:
    for message_id in ("m1", "m2", "e2"):
        restore(cleared, message_id)
    if since:
        cleared.ops(*(upsert(f"n{number}", "new") for number in range(since)), epoch=2)
    before = size(cleared)
    assert cleared.undo(of=1, epoch=2)["restored"] == 0
    assert size(cleared) == before == Message.objects.aggregate(bytes=Sum("size_bytes"))["bytes"]


def test_what_comes_back_is_nobody_s_and_changed_now(chat: Chat) -> None:
    chat.ops(upsert("m1", "one"))
    chat.ops({"op": "delete", "id": "m1"})
    saved = Message.objects.get(message_id="m1")
    assert saved.writer_seq > 0
    restore(chat, "m1")
    restored = Message.objects.get(message_id="m1")
    assert (restored.writer_id, restored.writer_seq) == (None, 0)
    assert restored.updated_at > saved.updated_at


def test_a_copy_that_replaces_its_message_takes_its_place(chat: Chat) -> None:
    chat.ops(upsert("m1", "one"), upsert("m2", "two"))
    chat.ops(upsert("e2", "edited", parent_id="m1"))
    another_writes(chat, "e2", "of another")
    before = tree(chat)
    assert settle(chat, "ours") == "e2"
    assert (tree(chat), chat.texts()) == (before, ["one", "of another"])
    assert Message.objects.get(message_id="e2").parent_id == "m1"


def test_a_copy_that_is_kept_beside_follows_the_head(chat: Chat) -> None:
    chat.ops(upsert("m1", "one"), upsert("m2", "two"))
    chat.ops(upsert("e2", "edited", parent_id="m1"))
    another_writes(chat, "e2", "of another")
    before = tree(chat)
    added = settle(chat, "both")
    assert (tree(chat), chat.texts()) == ({**before, added: "e2"}, ["one", "edited", "of another"])


def test_a_copy_does_not_replace_a_message_of_another_session_that_has_its_id(chat: Chat) -> None:
    twin = Chat(chat.api, project=chat.project)
    for each in (twin, chat):
        each.ops(upsert("m1", "one"))
    another_writes(chat, "m1", "of another")
    assert ConflictCopy.objects.count() == 1
    chat.ops({"op": "delete", "id": "m1"})
    settle(chat, "ours")
    assert (chat.texts(), twin.texts()) == (["of another"], ["one"])
