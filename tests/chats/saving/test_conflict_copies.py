"""Text that is kept aside: under which session and message, in which copy, and how many were made."""

from typing import Any

import pytest

from sessions_app.chats.saving import conflict_copies
from sessions_app.models.times import now
from tests.support.chat import Chat
from tests.support.saves import Op, Writer, answer_of_ai, append, delete, patch, upsert

pytestmark = pytest.mark.django_db
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def elsewhere(chat: Chat) -> Writer:
    """A writer in another session."""
    return Writer(Chat(chat.api))


def copies(chat: Chat) -> list[tuple[str, str]]:
    return sorted((copy["id"], copy["text"]) for copy in chat.conflicts())


def copy_of(answer: Any) -> str:
    (conflict,) = answer["conflicts"]
    return str(conflict["copy_id"])


def kept(answer: Any) -> int:
    assert answer.status_code == 409
    return int(answer.json()["error"]["details"]["kept_copies"])


def events(chat: Chat) -> list[tuple[str, int]]:
    project = chat.read()["session"]["project_id"]
    items = chat.api.get(f"/projects/{project}/events?since=0").json()["items"]
    return [(event["type"], event["rev"]) for event in items]


def test_a_growing_copy_keeps_its_id(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "standing"))
    assert len({copy_of(other.save(upsert("m1", text))) for text in ("s", "se", "sent")}) == 1
    assert copies(chat) == [("m1", "sent")]


def test_copies_of_one_save_are_listed_in_its_order(
    chat: Chat, tab: Writer, other: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = now()
    monkeypatch.setattr(conflict_copies, "now", lambda: at)
    names = [f"m{number}" for number in (7, 3, 9, 1, 8, 2, 6, 4, 5)]
    tab.save(*(upsert(name, "standing") for name in names))
    other.save(*(upsert(name, "sent") for name in names))
    assert [copy["id"] for copy in chat.conflicts()] == names


def test_each_message_has_its_own_copies(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "standing"), upsert("m2", "standing"))
    other.save(upsert("m1", "sent"))
    other.save(upsert("m2", "sent"))
    assert copies(chat) == [("m1", "sent"), ("m2", "sent")]


def test_each_session_has_its_own_copies(chat: Chat, tab: Writer, other: Writer, elsewhere: Writer) -> None:
    for writer in (tab, elsewhere):
        writer.save(upsert("m1", "standing"))
        Writer(writer.chat).save(upsert("m1", "sent"))
    assert copies(chat) == copies(elsewhere.chat) == [("m1", "sent")]


@pytest.mark.parametrize("keep", ["ours", "both"])
def test_a_copy_of_an_answer_that_broke_off_is_not_being_written_once_it_is_settled(
    chat: Chat, tab: Writer, other: Writer, keep: str
) -> None:
    tab.save(answer_of_ai("m1", "standing"))
    kept_copy = copy_of(other.save(answer_of_ai("m1", "sent", status="streaming")))
    settled = chat.post_plain(f"conflicts/{kept_copy}/settle", {"keep": keep}).json()["message"]
    assert {message["id"]: message["status"] for message in chat.read()["messages"]}[settled] == "interrupted"
    # Its writer, if it goes on after all, does so there.
    if keep == "ours":
        assert other.save(answer_of_ai("m1", "sent, and more", status="streaming"))["applied"]


def test_what_was_settled_is_kept_again_when_it_is_sent_again(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "standing"))
    settled = copy_of(other.save(upsert("m1", "sent")))
    assert chat.post_plain(f"conflicts/{settled}/settle", {"keep": "theirs"}).status_code == 200
    assert copy_of(other.save(upsert("m1", "sent"))) != settled
    assert copies(chat) == [("m1", "sent")]


def test_a_refused_save_counts_the_copies_that_it_made(chat: Chat, tab: Writer) -> None:
    chat.clear()
    assert kept(tab.send(upsert("m1", "one"), upsert("m2", "two"), upsert("m3", "three"))) == 3
    assert kept(tab.send(upsert("m1", "one"), upsert("m4", "four"))) == 1


def test_pages_hear_of_each_copy_that_is_made_or_grows(chat: Chat, tab: Writer, other: Writer) -> None:
    """Also of one whose save changes nothing else: its session's `rev` stays."""
    tab.save(upsert("m1", "standing"))
    before, rev = len(events(chat)), chat.read()["session"]["rev"]
    other.save(upsert("m1", "sent"))
    other.save(upsert("m1", "sent on"))
    other.save(upsert("m1", "sent"))  # Held by the copy.
    chat.clear()
    kept(chat.post("changes", ops=[upsert("late", "of the former epoch")]))
    copied = ("SESSION_UPDATED", rev)
    assert events(chat)[before:] == [copied, copied, ("SESSION_CLEARED", rev + 1), ("SESSION_UPDATED", rev + 1)]


def test_only_the_message_itself_holds_late_words(chat: Chat, tab: Writer, elsewhere: Writer) -> None:
    """The same words in another message, or in a message of this id in another session, are not these."""
    tab.save(upsert("m2", "words"))
    elsewhere.save(upsert("m1", "words"))
    chat.clear()
    assert kept(tab.send(upsert("m1", "words"))) == 1
    assert copies(chat) == [("m1", "words")]


@pytest.mark.parametrize("late", [append("m1", 3, "lo"), patch("m1", text="Hello")], ids=["append", "patch"])
def test_a_late_piece_belongs_to_the_message_of_its_session(chat: Chat, tab: Writer, elsewhere: Writer, late: Op) -> None:
    tab.save(answer_of_ai("m1", "Hel", status="streaming", metadata={"a": 1}))
    chat.clear()
    elsewhere.chat.clear()
    elsewhere.save(upsert("m0", "first"), epoch=2)
    elsewhere.save(answer_of_ai("m1", "Bye"), epoch=2)
    assert kept(tab.send(late)) == 1
    (copy,) = chat.conflicts()
    assert (copy["text"], copy["role"], copy["metadata"]) == ("Hello", "assistant", {"a": 1})


def test_a_late_piece_continues_the_newest_message_of_its_id(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "Bye"))
    chat.clear()
    tab.save(answer_of_ai("m1", "Hel", status="streaming"), epoch=2)
    chat.clear(epoch=2)
    assert kept(tab.send(append("m1", 3, "lo"), epoch=2)) == 1
    assert copies(chat) == [("m1", "Hello")]


def test_after_an_undo_a_removed_message_of_the_same_id_is_not_the_newest(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m0", "first"), upsert("m1", "x"), delete("m1"))
    chat.clear()
    tab.save(answer_of_ai("m1", "Hel", status="streaming"), epoch=2)
    chat.undo(of=1, epoch=2)
    assert chat.texts() == ["first", "Hel"]
    chat.clear(epoch=2)
    assert kept(tab.send(append("m1", 3, "lo"), epoch=2)) == 1
    assert copies(chat) == [("m1", "Hello")]


@pytest.mark.parametrize(("setting", "text", "flagged"), [
    ("off", f"key {SECRET}", None), ("flag", f"key {SECRET}", {"github_token": 1}),
    ("redact", "key [REDACTED:github_token]", {"github_token": 1}),
])  # fmt: skip
def test_secrets_in_late_words_are_treated_as_the_project_says(
    chat: Chat, tab: Writer, setting: str, text: str, flagged: Any
) -> None:
    project = chat.read()["session"]["project_id"]
    chat.api.patch(f"/projects/{project}", {"settings": {"redaction": setting}})
    chat.clear()
    assert kept(tab.send(upsert("m1", f"key {SECRET}"))) == 1
    (copy,) = chat.conflicts()
    assert (copy["text"], copy.get("flagged")) == (text, flagged)
