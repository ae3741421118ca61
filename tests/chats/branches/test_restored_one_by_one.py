"""Messages that come back one by one, and copies that are kept, find their place in a session with branches."""

from typing import Any

import pytest

from sessions_app.models import ConflictCopy, Message
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
