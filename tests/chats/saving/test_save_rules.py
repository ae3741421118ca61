"""What a save does with each message: the rules of an upsert, in the order in which they are asked."""

from typing import Any

import pytest

from sessions_app.chats.saving.message_input import REASONS
from tests.support.chat import Chat
from tests.support.saves import Writer, answer_of_ai, reasons, upsert

pytestmark = pytest.mark.django_db


def statuses(chat: Chat) -> dict[str, str]:
    return {message["id"]: message["status"] for message in chat.read()["messages"]}


def test_an_unknown_id_is_appended(chat: Chat, tab: Writer) -> None:
    answer = tab.save(upsert("m1", "one"), upsert("m2", "two"))
    assert answer["applied"] == [{"id": "m1", "ver": 1}, {"id": "m2", "ver": 1}]
    assert chat.texts() == ["one", "two"]


def test_if_ver_zero_demands_an_unknown_id(chat: Chat, tab: Writer, other: Writer) -> None:
    assert tab.save(upsert("m1", "one", if_ver=0))["applied"]
    answer = other.save(upsert("m1", "two", if_ver=0), base_rev=9)
    assert [conflict["id"] for conflict in answer["conflicts"]] == ["m1"]
    assert chat.texts() == ["one"]


def test_order_is_the_order_of_arrival_and_edits_keep_their_place(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("b", "1"), upsert("a", "2"))
    tab.save(upsert("c", "3"))
    tab.save(upsert("b", "1 edited"))
    assert chat.texts() == ["1 edited", "2", "3"]


@pytest.mark.parametrize("status", ["complete", "streaming", "interrupted"])
def test_same_content_is_ignored(tab: Writer, status: str) -> None:
    tab.save(upsert("m1", "one", status=status))
    answer = tab.save(upsert("m1", "one", status=status))
    assert reasons(answer["ignored"]) == {"m1": "same"}
    assert (answer["applied"], answer["prev_rev"], answer["rev"]) == ([], 1, 1)


def test_same_text_as_streaming_where_complete_stands_is_ignored(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(answer_of_ai("m1", "done"))
    answer = other.save(answer_of_ai("m1", "done", status="streaming"), base_rev=1)
    assert reasons(answer["ignored"]) == {"m1": "same"}
    assert statuses(chat) == {"m1": "complete"}


@pytest.mark.parametrize(
    ("stored", "sent", "changed"),
    [
        ("complete", "interrupted", True),
        ("interrupted", "complete", True),
        ("interrupted", "streaming", True),
        ("streaming", "complete", True),
        ("streaming", "interrupted", True),
        ("complete", "streaming", False),
    ],
)
def test_the_same_text_in_another_status(chat: Chat, tab: Writer, stored: str, sent: str, changed: bool) -> None:
    """Only streaming tells nothing new of what is complete."""
    tab.save(answer_of_ai("m1", "words", status=stored))
    answer = tab.save(answer_of_ai("m1", "words", status=sent))
    assert ([entry["id"] for entry in answer["applied"]], reasons(answer["ignored"])) == (
        (["m1"], {}) if changed else ([], {"m1": "same"})
    )
    assert statuses(chat) == {"m1": sent if changed else stored}


def test_sending_the_same_does_not_make_one_the_last_writer(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"))
    other.save(upsert("m1", "one"))
    assert tab.save(upsert("m1", "one, edited"))["applied"]
    assert other.save(upsert("m1", "mine"))["conflicts"]
    assert chat.texts() == ["one, edited"]


def test_complete_text_becomes_streaming_again_where_it_goes_on(chat: Chat, tab: Writer) -> None:
    """A tool's answer continues a message that was complete."""
    tab.save(answer_of_ai("m1", "call"))
    assert tab.save(answer_of_ai("m1", "call and more", status="streaming"))["applied"]
    assert statuses(chat) == {"m1": "streaming"}


def test_the_last_writer_needs_no_version(chat: Chat, tab: Writer) -> None:
    for text in ("a", "ab", "abc"):
        assert tab.save(answer_of_ai("m1", text, status="streaming"))["applied"]
    assert chat.texts() == ["abc"]


def test_the_last_writers_overtaken_request_is_ignored(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "third"), seq=3)
    answer = tab.save(upsert("m1", "second, late"), seq=2)
    assert reasons(answer["ignored"]) == {"m1": "stale"}
    assert answer["ignored"][0]["server"]["text"] == "third"
    assert chat.texts() == ["third"]
    assert chat.conflicts() == []


def test_ops_of_one_request_count_in_their_order(chat: Chat, tab: Writer) -> None:
    answer = tab.save(upsert("m1", "first"), upsert("m1", "second"))
    assert answer["applied"] == [{"id": "m1", "ver": 1}, {"id": "m1", "ver": 2}]
    assert (answer["rev"], chat.texts()) == (1, ["second"])


def test_another_writer_who_names_the_version_may_change_it(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"))
    tab.save(upsert("m1", "two"))
    assert other.save(upsert("m1", "by another", if_ver=2))["applied"] == [{"id": "m1", "ver": 3}]
    assert chat.texts() == ["by another"]


def test_an_old_version_is_a_conflict_whatever_base_rev_says(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"))
    tab.save(upsert("m1", "two"))
    assert other.save(upsert("m1", "by another", if_ver=1), base_rev=2)["conflicts"]
    assert chat.texts() == ["two"]


def test_another_writer_who_has_seen_the_rev_may_change_it(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"))
    assert other.save(upsert("m1", "by another"), base_rev=1)["applied"]
    assert chat.texts() == ["by another"]


def test_without_base_rev_nothing_was_seen(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"))
    assert other.save(upsert("m1", "by another"))["conflicts"]
    assert chat.texts() == ["one"]


@pytest.mark.parametrize(("stored", "sent", "stays"), [("a", "ab", "ab"), ("ab", "a", "ab")])
def test_two_tabs_that_watch_one_stream_keep_the_longer(
    chat: Chat, tab: Writer, other: Writer, stored: str, sent: str, stays: str
) -> None:
    tab.save(answer_of_ai("m1", stored, status="streaming"))
    answer = other.save(answer_of_ai("m1", sent, status="streaming"))
    assert answer["conflicts"] == []
    assert chat.texts() == [stays]
    assert chat.conflicts() == []


def test_of_equal_texts_the_complete_one_wins(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(answer_of_ai("m1", "done", status="streaming"))
    assert other.save(answer_of_ai("m1", "done"))["applied"]
    assert statuses(chat) == {"m1": "complete"}


def parts(*more: str) -> list[dict[str, str]]:
    """An answer's parts: its text, and so many tools."""
    return [{"type": "text", "text": "done"}, *({"type": "tool", "name": name} for name in more)]


@pytest.mark.parametrize(
    ("stored", "sent", "stays"),
    [
        # Each holds the other, for the text of a watched answer decides alone: complete wins, then size.
        (("complete", parts("one")), ("streaming", parts("one", "two")), "stored"),
        (("streaming", parts("one", "two")), ("complete", parts("one")), "sent"),
        (("complete", parts("one")), ("complete", parts("one", "two")), "sent"),
        (("complete", parts("one", "two")), ("complete", parts("one")), "stored"),
        (("streaming", parts("one")), ("interrupted", parts("one", "two")), "sent"),
        (("streaming", parts("one")), ("streaming", parts("two")), "stored"),
    ],
)
def test_two_tabs_with_the_same_text_and_other_parts_keep_the_complete_then_the_larger(
    chat: Chat, tab: Writer, other: Writer, stored: tuple[str, Any], sent: tuple[str, Any], stays: str
) -> None:
    tab.save(answer_of_ai("m1", "done", status=stored[0], parts=stored[1]))
    answer = other.save(answer_of_ai("m1", "done", status=sent[0], parts=sent[1]))
    assert (answer["conflicts"], chat.conflicts()) == ([], [])
    assert reasons(answer["ignored"]) == ({"m1": "stale"} if stays == "stored" else {})
    (message,) = chat.read()["messages"]
    assert (message["status"], message["parts"]) == (stored if stays == "stored" else sent)


def test_what_a_user_wrote_twice_is_a_conflict_even_if_one_begins_with_the_other(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "yes"))
    assert other.save(upsert("m1", "yes, but"))["conflicts"]
    assert chat.texts() == ["yes"]


def test_a_conflict_changes_nothing_and_loses_nothing(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "standing"))
    answer = other.save(upsert("m1", "sent", parts=[{"type": "text", "text": "sent"}], metadata={"a": 1}))
    (conflict,) = answer["conflicts"]
    assert (conflict["id"], conflict["server"]["text"], conflict["server"]["ver"]) == ("m1", "standing", 1)
    assert (answer["applied"], answer["prev_rev"], answer["rev"]) == ([], 1, 1)
    (copy,) = chat.conflicts()
    assert (copy["copy_id"], copy["id"], copy["text"]) == (conflict["copy_id"], "m1", "sent")
    assert (copy["reason"], copy["writer_id"], copy["metadata"]) == ("conflict", other.id, {"a": 1})
    assert chat.texts() == ["standing"]


def test_a_copy_contained_in_a_kept_one_is_not_made(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "standing"))
    first = other.save(upsert("m1", "sent and grown"))["conflicts"][0]["copy_id"]
    assert other.save(upsert("m1", "sent"))["conflicts"][0]["copy_id"] == first
    assert Writer(chat).save(upsert("m1", "sent and grown"))["conflicts"][0]["copy_id"] == first
    assert [copy["text"] for copy in chat.conflicts()] == ["sent and grown"]


def test_a_writers_growing_copy_is_one_copy(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "standing"))
    for text in ("s", "se", "sent"):
        other.save(upsert("m1", text))
    assert [copy["text"] for copy in chat.conflicts()] == ["sent"]


def test_another_writers_copy_is_not_replaced(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "standing"))
    other.save(upsert("m1", "se"))
    Writer(chat).save(upsert("m1", "sent"))
    assert sorted(copy["text"] for copy in chat.conflicts()) == ["se", "sent"]


def test_one_bad_neighbour_spoils_nothing(chat: Chat, tab: Writer, other: Writer) -> None:
    """Each op gets its own fate in one request."""
    tab.save(upsert("m1", "standing"), upsert("m2", "mine"))
    answer: Any = other.save(upsert("m1", "sent"), {"op": "dance"}, upsert("m3", "new"), upsert("m2", "mine"))
    assert [entry["id"] for entry in answer["applied"]] == ["m3"]
    assert [entry["id"] for entry in answer["conflicts"]] == ["m1"]
    assert reasons(answer["ignored"]) == {"m2": "same"}
    assert answer["rejected"] == [{"id": None, "index": 1, "reason": "unknown_op", "message": REASONS["unknown_op"]}]
    assert chat.texts() == ["standing", "mine", "new"]
