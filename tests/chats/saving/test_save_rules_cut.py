"""Edits as frameworks send them, in any order: cut and say again in one request; words that come after their own removal."""

import pytest

from tests.support.chat import Chat
from tests.support.saves import Writer, answer_of_ai, delete, reasons, truncate, upsert

pytestmark = pytest.mark.django_db


def copies(chat: Chat) -> list[tuple[str, str, str]]:
    return [(copy["id"], copy["text"], copy["reason"]) for copy in chat.conflicts()]


def test_an_upsert_behind_a_truncate_brings_its_id_back(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("q1", "one"), upsert("q2", "first try"), answer_of_ai("a2", "old answer"))
    answer = tab.save(truncate("q1"), upsert("q2", "second try"), answer_of_ai("a3", "new answer"))
    assert (answer["ignored"], answer["conflicts"], answer["spared"]) == ([], [], [])
    assert answer["applied"] == [{"id": "q2", "ver": 3}, {"id": "a2", "ver": 2, "removed": "truncated"}, {"id": "a3", "ver": 1}]
    assert chat.texts() == ["one", "second try", "new answer"]
    session = chat.read()["session"]
    assert (session["message_count"], session["size_bytes"]) == (3, len("onesecond trynew answer"))
    changed = chat.get("messages?since_rev=1").json()
    assert ([message["id"] for message in changed["items"]], changed["removed"]) == (["q2", "a3"], ["a2"])


def test_what_comes_back_stands_where_it_was_said(chat: Chat, tab: Writer) -> None:
    """A history that a framework shortened: cut all, then the summary, then what stays of it."""
    tab.save(*(upsert(f"m{number}", str(number)) for number in range(4)))
    tab.save(truncate(None), upsert("summary", "0 and 1"), upsert("m3", "3"), upsert("m2", "2"))
    assert [message["id"] for message in chat.read()["messages"]] == ["summary", "m3", "m2"]
    tab.save(upsert("m4", "4"))
    assert chat.texts() == ["0 and 1", "3", "2", "4"]


def test_another_writer_cuts_and_says_again_what_it_has_seen(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"))
    other.save(truncate("m1"), upsert("m2", "edited", if_ver=1), base_rev=1)
    assert (chat.texts(), chat.removed(), chat.conflicts()) == (["one", "edited"], [], [])


@pytest.mark.parametrize("if_ver", [0, 1])
def test_behind_a_cut_an_id_is_new_or_the_version_that_was_cut_off(chat: Chat, tab: Writer, if_ver: int) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"))
    tab.save(truncate("m1"), upsert("m2", "edited", if_ver=if_ver))
    assert chat.texts() == ["one", "edited"]


def test_behind_a_cut_another_version_is_kept_as_a_copy(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"))
    answer = tab.save(truncate("m1"), upsert("m2", "edited", if_ver=7))
    assert reasons(answer["ignored"]) == {"m2": "removed"}
    assert (chat.texts(), copies(chat)) == (["one"], [("m2", "edited", "removed")])


def test_only_what_the_same_request_cut_off_comes_back(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"), upsert("m3", "three"))
    tab.save(truncate("m2"))
    answer = tab.save(delete("m2"), truncate("m1"), upsert("m2", "again"), upsert("m3", "again"))
    assert reasons(answer["ignored"]) == {"m2": "removed", "m3": "removed"}
    assert (chat.texts(), copies(chat)) == (["one"], [("m2", "again", "removed"), ("m3", "again", "removed")])


def test_what_came_back_can_be_taken_out_again(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"))
    answer = tab.save(truncate("m1"), upsert("m2", "edited"), delete("m2"), upsert("m2", "too late"))
    assert reasons(answer["ignored"]) == {"m2": "removed"}
    assert (chat.texts(), copies(chat)) == (["one"], [("m2", "too late", "removed")])
    tab.save(upsert("m3", "three"))
    tab.save(truncate("m1"), upsert("m3", "edited"), truncate("m1"), upsert("m3", "edited again"))
    assert chat.texts() == ["one", "edited again"]


def test_a_cut_that_comes_late_spares_what_its_own_writer_said_after_it(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("q1", "one"), upsert("q2", "first try"), seq=1)
    tab.save(truncate("q1"), upsert("q2", "third try"), answer_of_ai("a2", "answer"), seq=3, base_rev=1)
    late = tab.save(truncate("q1"), upsert("q2", "second try"), seq=2, base_rev=1)
    assert (late["spared"], reasons(late["ignored"])) == (["q2", "a2"], {"q2": "stale"})
    assert (chat.texts(), chat.removed()) == (["one", "third try", "answer"], [])


def test_words_that_their_own_delete_overtook_are_kept(chat: Chat, tab: Writer, other: Writer) -> None:
    other.save(upsert("m1", "old"))
    tab.save(delete("m1", if_ver=1), seq=2)
    answer = tab.save(upsert("m1", "new words", if_ver=1), seq=1)
    assert reasons(answer["ignored"]) == {"m1": "removed"}
    assert (chat.texts(), copies(chat)) == ([], [("m1", "new words", "removed")])


def test_words_that_their_own_truncate_overtook_are_kept(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"), seq=1)
    tab.save(truncate("m1"), seq=3)
    tab.save(upsert("m2", "new words"), seq=2)
    assert (chat.texts(), copies(chat)) == (["one"], [("m2", "new words", "removed")])


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_of_late_words_for_a_delete_that_came_first_the_last_ones_are_kept(
    chat: Chat, tab: Writer, order: tuple[int, int]
) -> None:
    """The writer said "draft" (1), then "final" (2), then deleted the message (3); the delete came first."""
    tab.save(delete("m1"), seq=3)
    for seq in order:
        tab.save(upsert("m1", {1: "draft", 2: "final"}[seq]), seq=seq)
    held = {item["text"] for item in chat.removed()} | {text for _, text, _ in copies(chat)}
    assert held == ({"draft", "final"} if order == (1, 2) else {"final"})
    assert chat.texts() == []
