"""An append extends a streaming message exactly where its text ends, can be repeated, and never writes over other text."""

from typing import Any

import pytest

from sessions_app.models import Message
from sessions_app.models.message import TEXT_LENGTH
from tests.support.chat import Chat
from tests.support.saves import Op, Writer, answer_of_ai, append, delete, patch, reasons, upsert

pytestmark = pytest.mark.django_db


@pytest.fixture
def tab(chat: Chat) -> Writer:
    writer = Writer(chat)
    writer.save(answer_of_ai("m1", "Hel", status="streaming"))
    return writer


def copies(chat: Chat) -> list[tuple[str, str]]:
    return [(copy["text"], copy["reason"]) for copy in chat.conflicts()]


def test_it_extends_the_text_and_tells_its_length(chat: Chat, tab: Writer) -> None:
    assert tab.save(append("m1", 3, "lo"))["applied"] == [{"id": "m1", "ver": 2, "length": 5}]
    assert tab.save(append("m1", 5, "!"), append("m1", 6, "?"), patch("m1", status="complete"))["rev"] == 3
    (message,) = chat.read()["messages"]
    assert (message["text"], message["status"], message["parts"]) == (
        "Hello!?",
        "complete",
        [{"type": "text", "text": "Hello!?"}],
    )
    assert chat.read()["session"]["size_bytes"] == Message.objects.get().size_bytes == 7


def test_at_counts_code_points(chat: Chat, tab: Writer) -> None:
    """Not UTF-16 units, not bytes, not what a reader sees as one character."""
    tab.save(append("m1", 3, "😀é👨‍👩‍👧"))
    assert tab.save(append("m1", 3 + 1 + 1 + 5, "."))["applied"][0]["length"] == 11
    assert chat.texts() == ["Hel😀é👨‍👩‍👧."]


def test_another_writer_may_go_on_at_the_end_and_nowhere_else(chat: Chat, tab: Writer, other: Writer) -> None:
    assert other.save(append("m1", 3, "lo"))["applied"]
    answer = tab.save(append("m1", 3, "p!"))
    assert [(entry["length"], entry["server"]["text"]) for entry in answer["conflicts"]] == [(5, "Hello")]
    assert (chat.texts(), copies(chat)) == (["Hello"], [("Help!", "conflict")])
    assert tab.save(append("m1", 5, "!", if_ver=1))["conflicts"]
    assert tab.save(append("m1", 5, "!", if_ver=2))["applied"]


def test_what_is_there_already_changes_nothing(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(append("m1", 3, "lo"))
    for piece in (append("m1", 3, "lo"), append("m1", 3, "l"), append("m1", 0, "Hello"), append("m1", 5, "")):
        assert reasons(other.save(piece)["ignored"]) == {"m1": "same"}
    assert (chat.texts(), chat.read()["session"]["rev"]) == (["Hello"], 2)


def test_a_gap_is_a_conflict_that_keeps_nothing(chat: Chat, tab: Writer) -> None:
    (conflict,) = tab.save(append("m1", 4, "o"))["conflicts"]
    assert (conflict["length"], conflict["copy_id"]) == (3, None)
    assert reasons(tab.save(append("m1", 3, ""))["ignored"]) == {"m1": "same"}
    assert tab.save(append("m1", 4, ""))["conflicts"]
    assert (chat.texts(), copies(chat)) == (["Hel"], [])


@pytest.mark.parametrize("status", ["complete", "interrupted"])
def test_an_ended_message_is_not_extended(chat: Chat, tab: Writer, status: str) -> None:
    tab.save(patch("m1", status=status))
    assert tab.save(append("m1", 3, "lo"))["conflicts"][0]["length"] == 3
    assert (chat.texts(), copies(chat)) == (["Hel"], [("Hello", "conflict")])


def test_a_late_request_of_the_same_writer_does_not_extend_what_replaced_it(chat: Chat, tab: Writer) -> None:
    """Also if the new text is by chance as long as the old one."""
    tab.save(answer_of_ai("m1", "Bye", status="streaming"), seq=3)
    assert reasons(tab.save(append("m1", 3, "lo"), seq=2)["ignored"]) == {"m1": "stale"}
    assert chat.texts() == ["Bye"]


def test_what_was_sent_before_it_and_comes_later_is_kept(chat: Chat, tab: Writer) -> None:
    """Like a patch it names less than the message: it must not make an earlier whole text look superseded."""
    tab.save(append("m1", 3, "lo"), seq=3)
    assert tab.save(answer_of_ai("m1", "Another"), seq=2)["conflicts"]
    assert (chat.texts(), copies(chat)) == (["Hello"], [("Another", "conflict")])


def test_a_removed_message_keeps_the_text_and_stays_removed(chat: Chat, tab: Writer, other: Writer) -> None:
    other.save(delete("m1"), base_rev=1)
    assert reasons(tab.save(append("m1", 3, "lo"))["ignored"]) == {"m1": "removed"}
    assert (chat.texts(), [message["text"] for message in chat.removed()]) == ([], ["Hello"])
    assert reasons(tab.save(append("m1", 5, "!"))["ignored"]) == {"m1": "removed"}
    other.save(append("m1", 3, "p"))
    assert ([message["text"] for message in chat.removed()], copies(chat)) == (["Hello!"], [("Help", "removed")])


def test_after_a_clear_its_text_is_kept_as_a_copy(chat: Chat, tab: Writer) -> None:
    chat.clear()
    assert tab.send(append("m1", 3, "lo")).json()["error"]["details"]["kept_copies"] == 1
    assert tab.send(append("m1", 9, "lost")).json()["error"]["details"]["kept_copies"] == 0
    assert copies(chat) == [("Hello", "stale_epoch")]


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (append("nobody", 0, "x"), "unknown_message"),
        (append("", 0, "x"), "bad_id"),
        *[(append("m1", at, "x"), "bad_at") for at in (-1, True, "3", 3.0, None)],
        (append("m1", 3, None), "bad_text"),
        (append("m1", 3, "x" * TEXT_LENGTH), "text_too_long"),
        (append("m1", 3, "x", status="complete"), "unknown_field"),
        (append("m1", 3, "x", if_ver="2"), "bad_if_ver"),
    ],
)
def test_an_invalid_one_is_rejected(chat: Chat, tab: Writer, op: Op, reason: str) -> None:
    assert [entry["reason"] for entry in tab.save(op)["rejected"]] == [reason]
    assert chat.texts() == ["Hel"]


def test_a_secret_in_two_pieces_is_removed(chat: Chat, tab: Writer, api: Any) -> None:
    project = chat.read()["session"]["project_id"]
    chat.api.patch(f"/projects/{project}", {"settings": {"redaction": "redact"}})
    secret = "ghp_" + "a1B2" * 9
    tab.save(append("m1", 3, f" {secret[:20]}"))
    answer = tab.save(append("m1", 24, f"{secret[20:]} end"))
    assert answer["redacted"]
    (text,) = chat.texts()
    assert secret[:20] not in text
    assert answer["applied"][0]["length"] == len(text)
    assert tab.save(append("m1", len(text), "!"))["applied"]


def test_a_text_in_several_parts_is_not_extended(chat: Chat, tab: Writer) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "tool"}, {"type": "text", "text": "b"}]
    tab.save(upsert("m2", "ab", role="assistant", parts=parts, status="streaming"))
    assert reasons(tab.save(append("m2", 2, "c"))["rejected"]) == {"m2": "text_in_parts"}
