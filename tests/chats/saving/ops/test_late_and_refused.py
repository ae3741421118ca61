"""What is late or refused is told in full, and a patch leaves its mark: what its writer sent before is kept, not stale."""

from typing import Any

import pytest

from tests.support.chat import Chat
from tests.support.saves import Writer, answer_of_ai, append, delete, patch, reasons, upsert

pytestmark = pytest.mark.django_db


@pytest.fixture
def streaming(chat: Chat, tab: Writer) -> Writer:
    tab.save(answer_of_ai("m1", "Hel", status="streaming"))
    return tab


def copies(chat: Chat) -> list[tuple[str, str]]:
    return [(copy["text"], copy["reason"]) for copy in chat.conflicts()]


def test_a_piece_that_a_removed_message_has_is_told_as_removed(streaming: Writer) -> None:
    streaming.save(delete("m1"))
    assert reasons(streaming.save(append("m1", 0, "Hel"))["ignored"]) == {"m1": "removed"}


def test_a_gap_is_told_with_the_length_and_the_message(streaming: Writer) -> None:
    (conflict,) = streaming.save(append("m1", 9, "lo"))["conflicts"]
    assert (conflict["id"], conflict["server"]["text"], conflict["copy_id"], conflict["length"]) == ("m1", "Hel", None, 3)


def test_pieces_of_one_request_each_tell_the_length(streaming: Writer) -> None:
    answer = streaming.save(append("m1", 3, "l"), append("m1", 4, "o"))
    assert [entry["length"] for entry in answer["applied"]] == [4, 5]


def test_a_refused_delete_names_no_copy(streaming: Writer, other: Writer) -> None:
    (conflict,) = other.save(delete("m1", if_ver=7))["conflicts"]
    assert (conflict["id"], conflict["server"]["text"], conflict["copy_id"]) == ("m1", "Hel", None)


def late_answer(writer: Writer, **fields: Any) -> Any:
    """An upsert that was sent before what this writer saved last, and comes after it."""
    return writer.save(answer_of_ai("m1", "other words", **fields), seq=2)


def test_after_a_patch_of_its_own_what_a_writer_sent_before_is_kept(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "one"), seq=1)
    tab.save(patch("m1", text="one two"), seq=5)
    assert late_answer(tab)["conflicts"]
    assert copies(chat) == [("other words", "conflict")]


def test_after_a_patch_of_what_it_has_seen_what_a_writer_sent_before_is_kept(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(answer_of_ai("m1", "one"))
    assert other.save(patch("m1", text="three", if_ver=1), seq=5)["applied"]
    assert late_answer(other)["conflicts"]
    assert copies(chat) == [("other words", "conflict")]


def test_after_a_patch_that_grew_another_s_text_what_a_writer_sent_before_is_kept(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(answer_of_ai("m1", "one"))
    assert other.save(patch("m1", text="one two"), seq=5, base_rev=0)["applied"]
    assert late_answer(other)["conflicts"]
    assert copies(chat) == [("other words", "conflict")]


def test_the_status_of_a_question_that_another_wrote_is_refused_without_a_copy(chat: Chat, tab: Writer, other: Writer) -> None:
    """As growth of its text, which stays the same."""
    tab.save(upsert("m1", "said"))
    (conflict,) = other.save(patch("m1", text="said", status="interrupted"), base_rev=0)["conflicts"]
    assert (conflict["copy_id"], copies(chat)) == (None, [])


def test_another_status_that_was_not_seen_is_refused_without_a_copy(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(answer_of_ai("m1", "one"))
    (conflict,) = other.save(patch("m1", status="interrupted"), base_rev=0)["conflicts"]
    assert (conflict["copy_id"], copies(chat)) == (None, [])
