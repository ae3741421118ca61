"""What clear, its undo and restore return and publish, also when they are repeated, late or in another order."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from sessions_app.chats.lifecycle import clearing
from sessions_app.chats.lifecycle.removed_queries import RESTORABLE_FOR
from sessions_app.core.storage.sql import rfc3339
from sessions_app.models import Clearing, ConflictCopy, Message
from sessions_app.models.times import now
from tests.support.chat import Chat
from tests.support.saves import Writer, refusal
from tests.support.transfers import events_of

pytestmark = pytest.mark.django_db


def numbers(chat: Chat) -> tuple[int, int, int]:
    session = chat.read()["session"]
    return session["rev"], session["message_count"], session["size_bytes"]


def age(chat: Chat, by: timedelta) -> None:
    Clearing.objects.filter(session=uuid.UUID(chat.id)).update(cleared_at=F("cleared_at") - by)


def last_event(chat: Chat) -> dict[str, Any]:
    return events_of(chat)[-1]


def test_a_clear_is_told_with_the_epoch_that_is_over(chat: Chat) -> None:
    chat.say("m1", "hello")
    answer = chat.post("clear", writer_id="clearer").json()
    told = last_event(chat)
    assert (told["type"], told["data"], told["by"]["writer_id"]) == ("SESSION_CLEARED", {"of": 1}, "clearer")
    assert (told["epoch"], told["rev"]) == (2, answer["rev"]) == (2, answer["prev_rev"] + 1)
    assert answer["saved_at"] >= chat.read()["session"]["created_at"]


def test_a_clear_has_the_time_that_its_answer_names(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    at = now() - timedelta(hours=1)
    monkeypatch.setattr(clearing, "now", lambda: at)
    answer = chat.clear()
    assert (answer["saved_at"], Clearing.objects.get().cleared_at) == (rfc3339(at), at)


def test_an_undo_is_told_with_the_epoch_that_is_back(chat: Chat) -> None:
    chat.say("m1", "hello")
    chat.clear()
    answer = chat.post("undo-clear", epoch=2, of=1, writer_id="undoer").json()
    told = last_event(chat)
    assert (told["type"], told["data"], told["by"]["writer_id"]) == ("SESSION_UPDATED", {"undone": 1}, "undoer")
    assert (told["epoch"], told["rev"]) == (2, answer["rev"])
    assert {name: answer[name] for name in ("session", "epoch", "rev", "of", "restored", "renamed", "dropped")} == {
        "session": chat.id, "epoch": 2, "rev": answer["prev_rev"] + 1, "of": 1, "restored": 1, "renamed": [], "dropped": [],
    }  # fmt: skip
    assert answer["saved_at"] >= chat.read()["session"]["created_at"]
    assert numbers(chat) == (answer["rev"], 1, 5)


@pytest.mark.parametrize("of", [1, None])
def test_a_chat_comes_back_once(chat: Chat, of: int | None) -> None:
    """By another request too, whether it names the epoch or means the last one."""
    chat.say("m1", "hello")
    chat.clear()
    assert chat.post("undo-clear", epoch=2, of=of).status_code == 200
    before = numbers(chat)
    assert refusal(chat.post("undo-clear", epoch=2, of=of)) == (409, "nothing_to_restore")
    assert (chat.texts(), numbers(chat)) == (["hello"], before)


def test_without_a_number_the_last_one_comes_back_then_the_one_before(chat: Chat) -> None:
    for epoch in (1, 2, 3):
        chat.say(f"m{epoch}", f"of {epoch}", epoch=epoch)
        chat.clear(epoch=epoch)
    undone = [chat.post("undo-clear", epoch=4).json()["of"] for _ in range(3)]
    assert undone == [3, 2, 1]
    assert chat.texts() == ["of 1", "of 2", "of 3"]


def test_without_a_number_what_was_purged_is_passed_over(chat: Chat) -> None:
    for epoch in (1, 2):
        chat.say(f"m{epoch}", f"of {epoch}", epoch=epoch)
        chat.clear(epoch=epoch)
    Clearing.objects.filter(epoch=2).update(purged_at=F("cleared_at"))
    assert chat.post("undo-clear", epoch=3).json()["of"] == 1
    assert refusal(chat.post("undo-clear", epoch=3)) == (409, "nothing_to_restore")


def test_another_session_s_clear_is_no_business_of_this_one(chat: Chat) -> None:
    other = Chat(chat.api, project=chat.project)
    other.say("m1", "hello")
    other.clear()
    assert refusal(chat.post("undo-clear")) == (409, "nothing_to_restore")
    assert refusal(chat.post("undo-clear", of=1)) == (409, "nothing_to_restore")


@pytest.mark.parametrize("of", [1, None])
def test_for_thirty_days_a_clear_can_be_undone(chat: Chat, of: int | None) -> None:
    assert timedelta(days=30) == RESTORABLE_FOR
    chat.say("m1", "hello")
    chat.clear()
    age(chat, RESTORABLE_FOR + timedelta(seconds=5))
    assert refusal(chat.post("undo-clear", epoch=2, of=of)) == (410, "purged")
    age(chat, timedelta(minutes=-1))
    assert chat.post("undo-clear", epoch=2, of=of).status_code == 200


def test_an_opening_step_since_the_clear_stays(chat: Chat) -> None:
    chat.say("m1", "hello", opening_step="plan")
    chat.clear()
    chat.ops(opening_step="brainstorm", epoch=2)
    chat.undo(of=1, epoch=2)
    assert chat.read()["session"]["opening_step"] == "brainstorm"


def test_what_was_removed_before_the_clear_does_not_come_back_with_it(chat: Chat) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.ops({"op": "delete", "id": "m2"})
    chat.clear()
    answer = chat.undo(of=1, epoch=2)
    assert (answer["restored"], chat.texts(), numbers(chat)[1:]) == (1, ["one"], (1, 3))
    assert [item["id"] for item in chat.removed()] == ["m2"]


def test_an_empty_chat_comes_back_empty(chat: Chat) -> None:
    chat.clear()
    answer = chat.undo(of=1, epoch=2)
    assert (answer["restored"], answer["rev"] - answer["prev_rev"], numbers(chat)[1:]) == (0, 1, (0, 0))


def test_who_watches_learns_of_all_that_came_back(chat: Chat) -> None:
    chat.say("m1", "one")
    chat.say("m2", "two")
    chat.clear()
    answer = chat.undo(of=1, epoch=2)
    changed = chat.get(f"messages?since_rev={answer['prev_rev']}").json()
    assert [message["id"] for message in changed["items"]] == ["m1", "m2"]
    assert {message["rev"] for message in changed["items"]} == {answer["rev"]}


def test_a_long_id_that_is_taken_is_shortened_for_its_new_ending(chat: Chat) -> None:
    long = "i" * 64
    chat.say(long, "old")
    chat.clear()
    chat.say(long, "new", epoch=2)
    assert chat.undo(of=1, epoch=2)["renamed"] == [{"from": long, "to": "i" * 62 + "~1"}]
    assert chat.texts() == ["old", "new"]


def test_one_that_is_taken_gets_the_number_of_its_epoch(chat: Chat) -> None:
    chat.say("m1", "of 1")
    chat.clear()
    chat.say("m1", "of 2", epoch=2)
    chat.clear(epoch=2)
    chat.say("m1", "of 3", epoch=3)
    assert chat.post("removed/m1/restore?epoch=2").json()["message"] == "m1~2"


def test_of_several_under_one_id_the_newest_comes_back_or_the_one_of_the_named_epoch(chat: Chat) -> None:
    for epoch in (1, 2):
        chat.say("m1", f"of {epoch}", epoch=epoch)
        chat.clear(epoch=epoch)
    assert refusal(chat.post("removed/m1/restore?epoch=3")) == (404, "not_found")
    first = chat.post("removed/m1/restore").json()
    assert (first["message"], first["epoch"], chat.texts()) == ("m1", 3, ["of 2"])
    second = chat.post("removed/m1/restore?epoch=1").json()
    assert (second["message"], second["renamed"]) == ("m1~1", [{"from": "m1", "to": "m1~1"}])
    assert chat.texts() == ["of 1", "of 2"]
    assert numbers(chat) == (second["rev"], 2, 8)


def test_a_message_that_comes_back_is_nobody_s_and_is_told_of(chat: Chat) -> None:
    writer = Writer(chat)
    writer.save({"op": "upsert", "id": "m1", "role": "user", "text": "one"})
    writer.save({"op": "delete", "id": "m1"})
    answer = chat.post("removed/m1/restore").json()
    assert answer["rev"] == answer["prev_rev"] + 1 == numbers(chat)[0]
    told = last_event(chat)
    assert (told["type"], told["epoch"], told["rev"], told["session"]) == ("SESSION_UPDATED", 1, answer["rev"], chat.id)
    (message,) = chat.read()["messages"]
    assert message["rev"] == answer["rev"]
    late = writer.save({"op": "upsert", "id": "m1", "role": "user", "text": "one, unseen"})
    assert [conflict["id"] for conflict in late["conflicts"]] == ["m1"]


def test_only_what_was_taken_out_of_this_session_comes_back(chat: Chat) -> None:
    other = Chat(chat.api, project=chat.project)
    other.say("m1", "elsewhere")
    other.ops({"op": "delete", "id": "m1"})
    chat.say("m2", "live")
    for message_id in ("m1", "m2"):
        assert refusal(chat.post(f"removed/{message_id}/restore")) == (404, "not_found")
    assert (chat.texts(), other.texts()) == (["live"], [])


SENT = {
    "role": "assistant", "text": "sent", "status": "interrupted", "parts": [{"type": "x"}], "metadata": {"a": 1},
    "format": "f", "raw": [1], "parent_id": "m0",
}  # fmt: skip


# A copy takes a place in the session that is there, not the one that it was sent for.
SETTLED = {name: value for name, value in SENT.items() if name != "parent_id"}


def conflict(chat: Chat) -> str:
    """A message and one copy of it, by another writer."""
    chat.say("m1", "standing")
    return str(chat.ops({"op": "upsert", "id": "m1", **SENT}, writer_id="another")["conflicts"][0]["copy_id"])


def settle(chat: Chat, copy_id: str, keep: str) -> Any:
    return chat.api.post(f"/sessions/{chat.id}/conflicts/{copy_id}/settle", {"keep": keep})


def test_the_copy_takes_the_message_s_place_with_all_that_it_holds(chat: Chat) -> None:
    copy_id = conflict(chat)
    chat.say("m2", "after")
    before = numbers(chat)[0]
    answer = settle(chat, copy_id, "ours").json()
    assert (answer["message"], answer["prev_rev"], answer["rev"], answer["epoch"]) == ("m1", before, before + 1, 1)
    first, second = chat.read()["messages"]
    assert {name: first[name] for name in SETTLED} == SETTLED
    assert "parent_id" not in first
    assert (first["id"], first["ver"], first["rev"], second["id"]) == ("m1", 2, before + 1, "m2")
    assert first["updated_at"] > first["created_at"]
    stored = Message.objects.get(message_id="m1")
    assert (stored.writer_id, stored.writer_seq) == (None, 0)
    assert numbers(chat) == (before + 1, 2, stored.size_bytes + len("after"))
    told = last_event(chat)
    assert (told["type"], told["epoch"], told["rev"], told["session"]) == ("SESSION_UPDATED", 1, before + 1, chat.id)


def test_both_stay_and_the_copy_is_a_new_message_at_the_end(chat: Chat) -> None:
    copy_id = conflict(chat)
    chat.say("m2", "after")
    before = numbers(chat)[0]
    answer = settle(chat, copy_id, "both").json()
    assert (answer["message"], answer["rev"], answer["renamed"]) == ("m1~1", before + 1, [])
    last = chat.read()["messages"][-1]
    assert {name: last[name] for name in SETTLED} == SETTLED
    assert (last["id"], last["ver"], last["rev"], last["created_at"]) == ("m1~1", 1, before + 1, last["updated_at"])
    stored = Message.objects.get(message_id="m1~1")
    assert (stored.writer_id, stored.writer_seq) == (None, 0)
    assert numbers(chat) == (before + 1, 3, len("standingafter") + stored.size_bytes)
    chat.say("m3", "later")
    assert [message["id"] for message in chat.read()["messages"]] == ["m1", "m2", "m1~1", "m3"]


def test_what_stands_stays_and_nothing_changes_but_the_conflict(chat: Chat) -> None:
    copy_id = conflict(chat)
    before, told = numbers(chat), len(events_of(chat))
    answer = settle(chat, copy_id, "theirs").json()
    assert (answer["message"], answer["prev_rev"], answer["rev"]) == ("m1", before[0], before[0])
    assert (chat.texts(), chat.conflicts(), numbers(chat)) == (["standing"], [], before)
    assert [event["type"] for event in events_of(chat)[told:]] == ["SESSION_UPDATED"]
    assert ConflictCopy.objects.get().settled_at is not None


@pytest.mark.parametrize("keep", ["ours", "both"])
def test_where_no_message_stands_any_more_the_copy_becomes_one(chat: Chat, keep: str) -> None:
    copy_id = conflict(chat)
    chat.clear()
    answer = settle(chat, copy_id, keep).json()
    assert (answer["message"], answer["epoch"], chat.texts()) == ("m1", 2, ["sent"])
    assert numbers(chat)[1] == 1


def test_a_copy_does_not_take_the_place_of_what_was_taken_out(chat: Chat) -> None:
    copy_id = conflict(chat)
    chat.ops({"op": "truncate", "after": None})
    assert settle(chat, copy_id, "ours").json()["message"] == "m1~1"
    assert (chat.texts(), [item["text"] for item in chat.removed()]) == (["sent"], ["standing"])


@pytest.mark.parametrize("keep", ["theirs", "ours", "both"])
def test_a_conflict_is_settled_once_and_in_its_own_session(chat: Chat, keep: str) -> None:
    copy_id = conflict(chat)
    other = Chat(chat.api, project=chat.project)
    assert refusal(settle(other, copy_id, keep)) == (404, "not_found")
    assert refusal(settle(chat, str(uuid.uuid4()), keep)) == (404, "not_found")
    assert settle(chat, copy_id, keep).status_code == 200
    before = numbers(chat)
    assert refusal(settle(chat, copy_id, keep)) == (404, "not_found")
    assert numbers(chat) == before


def test_at_the_cap_a_settled_copy_drops_the_oldest(chat: Chat, settings: Any) -> None:
    settings.SESSION_CAP = 2
    copy_id = conflict(chat)
    chat.say("m2", "after")
    assert settle(chat, copy_id, "both").status_code == 200
    assert (chat.texts(), numbers(chat)[1]) == (["after", "sent"], 2)
