"""What an undo of a clear brought back stays what it is when another clear is undone after it."""

from typing import Any

import pytest

from sessions_app.chats.lifecycle import message_restore
from sessions_app.models import live
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db


def later(chat: Chat, message_id: str) -> str:
    """What becomes of this writer's next text of a message, if the writer saw nothing since it wrote before."""
    op = {"op": "upsert", "id": message_id, "role": "user", "text": "later"}
    answer = chat.ops(op, epoch=3, base_rev=0)
    return next(kind for kind in ("applied", "conflicts", "ignored") if answer[kind])


@pytest.fixture
def undone_twice(chat: Chat) -> Chat:
    """m0 to m3 were cleared, then n0 and n1. While q0 was there n0 and n1 came back, and n1 was written again; then m0 to m3
    came back."""
    for number in range(4):
        chat.say(f"m{number}", "first")
    chat.clear()
    chat.say("n0", "second", epoch=2)
    chat.say("n1", "second", epoch=2)
    chat.clear(epoch=2)
    chat.say("q0", "third", epoch=3)
    back = chat.undo(of=2, epoch=3)
    chat.say("n1", "second, again", epoch=3, base_rev=back["rev"])
    chat.undo(of=1, epoch=3)
    assert [message["id"] for message in chat.read()["messages"]] == ["m0", "m1", "m2", "m3", "n0", "n1", "q0"]
    return chat


def test_what_came_back_is_nobody_s(undone_twice: Chat) -> None:
    assert later(undone_twice, "m0") == later(undone_twice, "n0") == "conflicts"


def test_what_came_back_can_be_taken_out_by_who_has_seen_it(undone_twice: Chat) -> None:
    seen = undone_twice.read()["session"]["rev"]
    undone_twice.ops({"op": "delete", "id": "m0"}, {"op": "delete", "id": "n0"}, epoch=3, base_rev=seen)
    assert [message["id"] for message in undone_twice.read()["messages"]] == ["m1", "m2", "m3", "n1", "q0"]
    assert sorted(item["id"] for item in undone_twice.removed()) == ["m0", "n0"]


@pytest.mark.parametrize("message_id", ["n1", "q0"])
def test_what_was_written_since_is_its_writer_s(undone_twice: Chat, message_id: str) -> None:
    assert later(undone_twice, message_id) == "applied"


def test_who_missed_both_is_told_of_what_the_first_brought_back(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where many messages are between it and those that the second brings back: the revs that this takes reach so far."""
    for module in (live, message_restore):
        monkeypatch.setattr(module, "POSITIONS_A_REV", 10)

    def many(name: str, count: int, epoch: int) -> None:
        chat.ops(*({"op": "upsert", "id": f"{name}{at}", "role": "user", "text": "x"} for at in range(count)), epoch=epoch)
        chat.clear(epoch=epoch)

    many("first", 1, 1)
    many("between", 45, 2)
    many("second", 12, 3)
    chat.say("last", "x", epoch=4)
    seen = chat.read()["session"]["rev"]
    chat.undo(of=1, epoch=4)
    chat.undo(of=3, epoch=4)
    told = {item["id"] for item in chat.get(f"messages?since_rev={seen}").json()["items"]}
    # To tell of one again that was known does no harm.
    assert told - {"last"} == {"first0", *(f"second{at}" for at in range(12))}


def cleared_and_longer_since(chat: Chat, *, epoch: int, also: str) -> Any:
    """Clear it, write more than was cleared, and undo: then the cleared messages move."""
    chat.clear(epoch=epoch)
    for message_id in (also, "n1", "n2"):
        chat.say(message_id, "since", epoch=epoch + 1)
    return chat.undo(of=epoch, epoch=epoch + 1)


def test_an_id_that_is_taken_gets_the_number_of_its_epoch_as_clients_know_it(chat: Chat) -> None:
    chat.say("m0", "first")
    chat.clear()
    chat.undo(of=1, epoch=2)
    assert cleared_and_longer_since(chat, epoch=2, also="m0")["renamed"] == [{"from": "m0", "to": "m0~2"}]


def test_ids_of_another_session_are_not_taken(chat: Chat) -> None:
    other = Chat(chat.api, project=chat.project)
    other.clear()
    for one, epoch in ((chat, 1), (other, 2)):
        one.say("m0", "first", epoch=epoch)
    assert cleared_and_longer_since(chat, epoch=1, also="n0")["renamed"] == []
