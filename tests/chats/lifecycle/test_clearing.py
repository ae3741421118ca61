"""Starting over, and taking that back: clear, undo, what was removed."""

from typing import Any

import pytest
from django.db import connection

from sessions_app.core.storage.sql import rfc3339
from sessions_app.models import ChatSession, Clearing
from tests.support.chat import Chat
from tests.support.saves import upsert

pytestmark = pytest.mark.django_db


def test_clear_empties_the_window_and_begins_an_epoch(chat: Chat) -> None:
    chat.say("m1", "hello", opening_step="brainstorm")
    answer = chat.clear()
    assert (answer["of"], answer["cleared"], answer["epoch"], answer["prev_rev"], answer["rev"]) == (1, 1, 2, 1, 2)
    session = chat.read()
    assert session["messages"] == []
    now = session["session"]
    assert (now["opening_step"], now["message_count"], now["size_bytes"]) == ("", 0, 0)


def test_clear_sent_again_clears_nothing_more(chat: Chat) -> None:
    chat.say("m1", "hello")
    first = chat.post("clear", seq=9)
    chat.say("m2", "after", epoch=2)
    again = chat.post("clear", seq=9)
    assert again.json() == first.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert chat.texts() == ["after"]


def test_a_flush_after_clear_brings_nothing_back_and_loses_nothing(chat: Chat) -> None:
    chat.say("m1", "hello")
    chat.clear()
    late = chat.post("changes", seq=50, epoch=1, ops=[{"op": "upsert", "id": "m2", "role": "user", "text": "last words"}])
    assert (late.status_code, late.json()["error"]["code"]) == (409, "stale_epoch")
    assert chat.texts() == []
    assert [copy["text"] for copy in chat.conflicts()] == ["last words"]


def test_late_words_that_the_cleared_chat_holds_make_no_copy(chat: Chat) -> None:
    chat.say("m1", "hello world")
    chat.clear()
    chat.post("changes", seq=50, epoch=1, ops=[{"op": "upsert", "id": "m1", "role": "user", "text": "hello"}])
    assert chat.conflicts() == []


def late(chat: Chat, message_id: str, role: str, text: str) -> None:
    op = {"op": "upsert", "id": message_id, "role": role, "text": text, "status": "streaming"}
    chat.post("changes", seq=50, writer_id="late", epoch=1, ops=[op])


def test_an_answer_that_went_on_while_the_chat_was_cleared_is_whole_after_the_undo(chat: Chat) -> None:
    chat.say("m1", "hello", role="user")
    chat.ops({"op": "upsert", "id": "m2", "role": "assistant", "text": "one two", "status": "streaming"})
    chat.clear()
    late(chat, "m2", "assistant", "one two three")
    assert chat.undo(of=1, epoch=2)["restored"] == 2
    assert (chat.texts(), chat.conflicts()) == (["hello", "one two three"], [])
    assert (chat.read()["session"]["size_bytes"], chat.read()["messages"][1]["status"]) == (18, "interrupted")


@pytest.mark.parametrize(("role", "text"), [("user", "hello world"), ("assistant", "something else")])
def test_what_differs_from_a_restored_message_waits_for_a_person(chat: Chat, role: str, text: str) -> None:
    chat.say("m1", "hello", role=role)
    chat.clear()
    late(chat, "m1", role, text)
    chat.undo(of=1, epoch=2)
    assert (chat.texts(), [copy["text"] for copy in chat.conflicts()]) == (["hello"], [text])


def test_undo_puts_the_chat_back_before_what_was_written_since(chat: Chat) -> None:
    chat.say("m1", "one", opening_step="plan")
    chat.say("m2", "two")
    chat.clear()
    chat.say("m3", "three", epoch=2)
    answer = chat.undo(of=1, epoch=2)
    assert (answer["restored"], answer["renamed"]) == (2, [])
    assert chat.texts() == ["one", "two", "three"]
    session = chat.read()["session"]
    assert (session["message_count"], session["size_bytes"], session["opening_step"]) == (3, 11, "plan")


@pytest.mark.parametrize("alone", ["m1", ""])
def test_the_counts_are_those_of_the_messages(chat: Chat, alone: str) -> None:
    """Also where one message came back before the others, and beside another session with the same ids."""
    twin = Chat(chat.api, project=chat.project)
    for each in (chat, twin):
        each.ops(upsert("m1", "one"), upsert("m2", "two words"))
        each.clear()
        each.say("m3", "since", epoch=2)
    if alone:
        assert chat.post("removed/m1/restore", epoch=2).status_code == 200
    answer = chat.undo(of=1, epoch=2)
    session, messages = chat.read()["session"], chat.read()["messages"]
    assert (answer["renamed"], [message["id"] for message in messages]) == ([], ["m1", "m2", "m3"])
    assert (session["message_count"], session["size_bytes"]) == (3, len("one" + "two words" + "since"))
    assert twin.texts() == ["since"]


def test_undo_renames_a_message_whose_id_is_taken(chat: Chat) -> None:
    chat.say("m1", "old")
    chat.clear()
    chat.say("m1", "new", epoch=2)
    answer = chat.undo(of=1, epoch=2)
    assert answer["renamed"] == [{"from": "m1", "to": "m1~1"}]
    assert chat.texts() == ["old", "new"]


def test_an_id_that_a_rename_would_take_is_left_to_its_message(chat: Chat) -> None:
    for message_id in ("m1", "m1~1", "m2"):
        chat.say(message_id, f"old {message_id}")
    chat.clear()
    chat.say("m1", "new", epoch=2)
    answer = chat.undo(of=1, epoch=2)
    assert answer["renamed"] == [{"from": "m1", "to": "m1~1.2"}]
    assert {message["id"]: message["text"] for message in chat.read()["messages"]} == {
        "m1": "new",
        "m1~1": "old m1~1",
        "m1~1.2": "old m1",
        "m2": "old m2",
    }


def test_a_long_chat_comes_back_like_a_short_one(chat: Chat) -> None:
    long = 40_000
    chat.say("m0", "first")
    copied = "role, text, status, ver, rev, writer_seq, size_bytes, removed, created_at, updated_at"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO sessions_app_message (session_id, epoch, message_id, position, {copied}) "
            f"WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {long}) "
            f"SELECT session_id, epoch, 'many' || n, position + n, {copied} FROM sessions_app_message, counted"
        )
    ChatSession.objects.update(last_position=long + 1, message_count=long + 1, size_bytes=5 * (long + 1))
    chat.clear()
    chat.say("many7", "another", epoch=2)
    answer = chat.undo(of=1, epoch=2)
    assert (answer["restored"], answer["renamed"]) == (long + 1, [{"from": "many7", "to": "many7~1"}])
    session = chat.read()
    assert (session["session"]["message_count"], session["session"]["size_bytes"]) == (long + 2, 5 * (long + 1) + 7)
    assert [message["id"] for message in session["messages"][-2:]] == [f"many{long}", "many7"]


def test_undone_messages_are_nobodys(chat: Chat) -> None:
    """Their former writer must read first, like any other."""
    chat.say("m1", "old")
    chat.clear()
    chat.undo(of=1, epoch=2)
    answer = chat.post("changes", seq=60, epoch=2, ops=[{"op": "upsert", "id": "m1", "role": "user", "text": "unseen"}]).json()
    assert [conflict["id"] for conflict in answer["conflicts"]] == ["m1"]
    assert chat.texts() == ["old"]


def test_clear_undo_clear_undo(chat: Chat) -> None:
    chat.say("m1", "one")
    chat.clear()
    chat.undo(of=1, epoch=2)
    chat.clear(epoch=2)
    assert chat.texts() == []
    chat.undo(of=2, epoch=3)
    assert chat.texts() == ["one"]


@pytest.mark.parametrize("of", [1, 7])
def test_nothing_to_undo(chat: Chat, of: int) -> None:
    chat.say("m1", "one")
    answer = chat.post("undo-clear", seq=9, of=of)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "nothing_to_restore")


def test_an_undo_sent_again_does_not_bring_an_earlier_chat_back(chat: Chat) -> None:
    chat.say("m1", "one")
    chat.clear()
    chat.say("m2", "two", epoch=2)
    chat.clear(epoch=2)
    first = chat.post("undo-clear", seq=70, epoch=3, of=2)
    again = chat.post("undo-clear", seq=70, epoch=3, of=2)
    assert first.json() == again.json()
    assert chat.texts() == ["two"]


def test_what_was_purged_cannot_be_undone(chat: Chat) -> None:
    chat.say("m1", "one")
    chat.clear()
    Clearing.objects.update(purged_at="2026-01-01T00:00:00Z")
    answer = chat.post("undo-clear", seq=9, epoch=2, of=1)
    assert (answer.status_code, answer.json()["error"]["code"]) == (410, "purged")


def test_the_opening_step_goes_and_comes_back_with_the_messages(chat: Chat) -> None:
    chat.post("changes", opening_step="brainstorm", ops=[])
    chat.clear()
    assert chat.read()["session"]["opening_step"] == ""
    chat.undo(of=1, epoch=2)
    assert chat.read()["session"]["opening_step"] == "brainstorm"


def test_removed_lists_why_and_restores(chat: Chat) -> None:
    for number in range(1, 5):
        chat.say(f"m{number}", f"text {number}")
    chat.ops({"op": "delete", "id": "m4"}, {"op": "truncate", "after": "m2"})
    found = {item["id"]: item["reason"] for item in chat.removed()}
    assert found == {"m4": "deleted", "m3": "truncated"}
    answer = chat.post("removed/m3/restore").json()
    assert (answer["message"], answer["rev"] - answer["prev_rev"]) == ("m3", 1)
    assert chat.texts() == ["text 1", "text 2", "text 3"]
    assert [item["id"] for item in chat.removed()] == ["m4"]


def test_a_message_of_a_cleared_chat_comes_back_alone(chat: Chat) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.clear()
    assert {item["reason"] for item in chat.removed()} == {"cleared"}
    chat.post("removed/m1/restore")
    assert chat.texts() == ["one"]


def test_a_remembered_delete_of_an_unknown_id_is_nothing_to_restore(chat: Chat) -> None:
    chat.ops({"op": "delete", "id": "never"})
    assert chat.removed() == []
    assert chat.post("removed/never/restore").status_code == 404


def test_removed_by_pages(chat: Chat) -> None:
    for number in range(5):
        chat.say(f"m{number}", f"text {number}")
    chat.clear()
    seen: list[Any] = []
    cursor = ""
    while True:
        page = chat.get(f"removed?limit=2{cursor}").json()
        seen += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == ["m4", "m3", "m2", "m1", "m0"]


def test_a_chat_with_branches_begins_without_any_and_comes_back_before_what_was_said_since(chat: Chat) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.ops({"op": "upsert", "id": "m3", "role": "user", "text": "three", "parent_id": "m1"})
    assert chat.texts() == ["one", "three"]
    answer = chat.clear()
    assert ChatSession.objects.get(id=chat.id).head is None
    kept = Clearing.objects.get(epoch=1)
    assert (kept.epoch, kept.messages_epoch, kept.head, kept.message_count, kept.size_bytes) == (1, 1, "m3", 3, 11)
    assert rfc3339(kept.cleared_at) == answer["saved_at"]
    chat.say("m4", "four", epoch=2)
    chat.undo(of=1, epoch=2)
    assert chat.texts() == ["one", "three", "four"]
    session = chat.read()["session"]
    assert (session["message_count"], session["size_bytes"]) == (4, 15)


def test_a_second_clear_of_what_came_back_keeps_under_which_epoch_it_is_stored(chat: Chat) -> None:
    chat.say("m1", "one")
    chat.clear()
    chat.undo(of=1, epoch=2)
    chat.clear(epoch=2)
    second = Clearing.objects.get(epoch=2)
    assert (second.messages_epoch, second.message_count) == (1, 1)
    chat.undo(of=2, epoch=3)
    assert chat.texts() == ["one"]
