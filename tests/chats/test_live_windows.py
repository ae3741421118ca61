"""A live window that is kept in memory is never a stale one."""

from typing import Any

import pytest
from cachetools import LRUCache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.chats.reading import live_windows, messages
from sessions_app.models import Message
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db


def resumed(chat: Chat) -> tuple[list[str], bool]:
    """The texts that a resume answers, and whether it read the messages for them."""
    with CaptureQueriesContext(connection) as caught:
        bundle = chat.api.get(f"/resume?project={chat.project}").json()
    read = any("sessions_app_message" in query["sql"] for query in caught)
    assert [message["text"] for message in bundle["messages"]] == chat.texts()
    return [message["text"] for message in bundle["messages"]], read


def test_a_window_is_read_once_until_it_changes(chat: Chat) -> None:
    chat.say("m1", "one")
    assert resumed(chat) == (["one"], True)
    assert resumed(chat) == (["one"], False)
    chat.say("m2", "two")
    assert resumed(chat) == (["one", "two"], True)
    chat.say("m1", "one, edited")
    assert resumed(chat) == (["one, edited", "two"], True)


def test_every_step_of_a_session_s_life_is_seen(chat: Chat) -> None:
    chat.say("m1", "one")
    resumed(chat)
    cleared = chat.clear()
    assert resumed(chat) == ([], True)
    chat.say("m2", "in the new epoch", epoch=cleared["epoch"])
    assert resumed(chat)[0] == ["in the new epoch"]
    chat.ops({"op": "delete", "id": "m2"}, epoch=cleared["epoch"])
    assert resumed(chat)[0] == []
    chat.undo(of=1, epoch=cleared["epoch"])
    assert resumed(chat)[0] == ["one"]


def test_an_id_that_was_purged_and_used_again_is_another_session(chat: Chat) -> None:
    chat.say("m1", "hers, long ago")
    resumed(chat)
    chat.api.delete(f"/sessions/{chat.id}")
    assert chat.api.delete(f"/sessions/{chat.id}?purge=1").status_code == 204
    again = chat.api.put(f"/sessions/{chat.id}", {"project": chat.project}, **{"If-None-Match": "*"})
    assert again.status_code == 201
    chat.say("m1", "new")
    assert resumed(chat)[0] == ["new"]


def test_what_is_still_written_is_read_each_time(chat: Chat) -> None:
    chat.ops({"op": "upsert", "id": "m1", "role": "assistant", "text": "hal", "status": "streaming"})
    assert [resumed(chat)[1] for _ in range(2)] == [True, True]


def test_what_is_damaged_is_read_each_time_so_that_its_repair_shows(chat: Chat) -> None:
    chat.say("m1", "sound")
    Message.objects.update(parts="[")
    assert [resumed(chat) for _ in range(2)] == [([], True), ([], True)]
    Message.objects.update(parts=None)
    assert resumed(chat)[0] == ["sound"]


def test_no_more_is_kept_than_there_is_room_for(chat: Chat, monkeypatch: Any) -> None:
    room: LRUCache[Any, Any] = LRUCache(4_000, getsizeof=lambda kept: len(kept[1].messages))
    monkeypatch.setattr(live_windows, "_kept", room)
    chat.say("m1", "x" * 1_000)
    other = Chat(chat.api, project="/other")
    other.say("m1", "y" * 1_000)
    assert [resumed(each)[1] for each in (chat, chat, other, other, chat)] == [True, False, True, False, True]
    chat.say("m1", "too big for any room" * 100)
    assert [resumed(chat)[1] for _ in range(2)] == [True, True]
    assert room.currsize <= room.maxsize


def test_a_session_that_changes_and_is_read_takes_the_room_of_one_window(chat: Chat, monkeypatch: Any) -> None:
    room: LRUCache[Any, Any] = LRUCache(1_000_000, getsizeof=lambda kept: len(kept[1].messages))
    monkeypatch.setattr(live_windows, "_kept", room)
    for number in range(5):
        chat.say("m1", f"{'x' * 1_000}{number}")
        resumed(chat)
    assert room.currsize < 5_000


@pytest.mark.parametrize("read", ["", "/messages"])
def test_what_an_undo_moves_during_a_read_is_read(chat: Chat, monkeypatch: pytest.MonkeyPatch, read: str) -> None:
    """The read knows the session as it was; after the undo, the messages since the clear are with those from before it."""
    chat.say("m1", "one")
    chat.clear()
    chat.say("m2", "since", epoch=2)
    read_rows, to_undo = messages.read_rows, iter([1])

    def later(*arguments: Any) -> Any:
        for epoch in to_undo:
            chat.undo(of=epoch, epoch=2)
        return read_rows(*arguments)

    monkeypatch.setattr(messages, "read_rows", later)
    answer = chat.api.get(f"/sessions/{chat.id}{read}").json()
    assert [message["text"] for message in answer["items" if read else "messages"]] == ["one", "since"]
