"""A page shows what an ended page of its browser has not sent yet, and changes it: it names the request that it has seen."""

from typing import Any

import pytest

from tests.support.chat import Chat
from tests.support.saves import Op, Writer, answer_of_ai, delete, patch, reasons, upsert

pytestmark = pytest.mark.django_db


def write(writer: Writer, seq: int) -> Op:
    return {"if_write": {"writer_id": writer.id, "seq": seq}}


def outcome(answer: dict[str, Any]) -> str:
    [name] = [name for name in ("applied", "ignored", "conflicts", "rejected") if answer[name]]
    return name


@pytest.mark.parametrize(("seq", "told"), [(3, "conflicts"), (4, "applied"), (5, "applied")])
def test_a_writer_changes_what_it_saw_before_it_was_sent(chat: Chat, tab: Writer, other: Writer, seq: int, told: str) -> None:
    """If only an earlier request of that writer came, it has seen more than what is stored; of a later one it knows nothing."""
    tab.save(upsert("m1", "as the page ended"), seq=4)
    assert outcome(other.save(upsert("m1", "edited", if_ver=0, **write(tab, seq)))) == told
    assert chat.texts() == (["edited"] if told == "applied" else ["as the page ended"])
    assert [copy["text"] for copy in chat.conflicts()] == ([] if told == "applied" else ["edited"])


@pytest.mark.parametrize(("seq", "told"), [(3, "conflicts"), (4, "applied")])
def test_a_writer_deletes_what_it_saw_before_it_was_sent(chat: Chat, tab: Writer, other: Writer, seq: int, told: str) -> None:
    tab.save(upsert("m1", "as the page ended"), seq=4)
    assert outcome(other.save(delete("m1", if_ver=0, **write(tab, seq)))) == told
    assert chat.texts() == ([] if told == "applied" else ["as the page ended"])


def test_a_writer_patches_what_it_saw_before_it_was_sent(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "as the page ended"))
    assert outcome(other.save(patch("m1", text="edited", **write(tab, 1)))) == "applied"
    assert chat.texts() == ["edited"]


def test_what_a_third_one_wrote_meanwhile_is_not_seen(chat: Chat, tab: Writer, other: Writer) -> None:
    third = Writer(chat)
    tab.save(upsert("m1", "as the page ended"))
    third.save(upsert("m1", "elsewhere", if_ver=1))
    answer = other.save(upsert("m1", "edited", if_ver=0, **write(tab, 9)))
    assert outcome(answer) == "conflicts"
    assert (chat.texts(), [copy["text"] for copy in chat.conflicts()]) == (["elsewhere"], ["edited"])


def test_nor_what_a_patch_of_the_other_left_as_it_was(chat: Chat, tab: Writer, other: Writer) -> None:
    third = Writer(chat)
    third.save(answer_of_ai("m1", "elsewhere"))
    tab.save(patch("m1", metadata={"note": 1}, if_ver=1))
    assert outcome(other.save(upsert("m1", "edited", if_ver=0, **write(tab, 1)))) == "conflicts"
    assert chat.texts() == ["elsewhere"]


@pytest.mark.parametrize("more", [{}, {"if_write": {"writer_id": "", "seq": 99}}])
def test_nor_what_an_undo_brought_back_which_belongs_to_no_writer(chat: Chat, tab: Writer, other: Writer, more: Op) -> None:
    tab.save(upsert("m1", "as the page ended"))
    tab.step("clear")
    tab.step("undo-clear", epoch=2)
    answer = other.save(upsert("m1", "edited", if_ver=0, **more), epoch=2)
    assert outcome(answer) == "conflicts"


def test_one_of_both_is_enough(chat: Chat, tab: Writer, other: Writer) -> None:
    """The page knew the version before those requests, or the server's since."""
    third = Writer(chat)
    tab.save(upsert("m1", "one"))
    third.save(upsert("m1", "two", if_ver=1))
    assert outcome(other.save(upsert("m1", "edited", if_ver=2, **write(tab, 1)))) == "applied"
    third.save(upsert("m1", "three", if_ver=3), seq=7)
    assert outcome(other.save(upsert("m1", "edited again", if_ver=3, **write(third, 7)))) == "applied"


def test_pages_that_end_one_after_the_other(chat: Chat, tab: Writer, other: Writer) -> None:
    third = Writer(chat)
    tab.save(upsert("m1", "one"))
    other.save(upsert("m1", "two", if_ver=0, **write(tab, 1)))
    assert outcome(third.save(upsert("m1", "three", if_ver=0, **write(other, 1)))) == "applied"
    assert (chat.texts(), chat.conflicts()) == (["three"], [])


@pytest.mark.parametrize(
    "bad", [1, "w", [], {}, {"writer_id": "w"}, {"writer_id": 1, "seq": 1}, {"writer_id": "w", "seq": True},
            {"writer_id": "w", "seq": "1"}, {"writer_id": "w", "seq": 1, "more": 1}],
)  # fmt: skip
def test_what_is_no_request_is_rejected(tab: Writer, bad: Any) -> None:
    answer = tab.save(upsert("m1", "one", if_write=bad), delete("m2", if_write=bad), upsert("m3", "three", if_write=None))
    assert reasons(answer["rejected"]) == {"m1": "bad_if_write", "m2": "bad_if_write"}
    assert [entry["id"] for entry in answer["applied"]] == ["m3"]
