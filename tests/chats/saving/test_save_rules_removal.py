"""What a save takes out, and that nothing which was taken out comes back by a save."""

from typing import Any

import pytest

from sessions_app.chats.saving.message_input import REASONS
from tests.support.chat import Chat
from tests.support.saves import Writer, answer_of_ai, delete, patch, reasons, truncate, upsert

pytestmark = pytest.mark.django_db


def kept(chat: Chat) -> dict[str, tuple[str, str]]:
    """What was taken out, by id: why, and its text."""
    return {item["id"]: (item["reason"], item["text"]) for item in chat.removed()}


def test_a_writer_deletes_what_it_wrote(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"))
    answer = tab.save(delete("m1"))
    assert [entry["id"] for entry in answer["applied"]] == ["m1"]
    assert (chat.texts(), kept(chat)) == (["two"], {"m1": ("deleted", "one")})
    session = chat.read()["session"]
    assert (session["message_count"], session["size_bytes"], session["rev"]) == (1, 3, 2)


@pytest.mark.parametrize("seen", [{"if_ver": 1}, {"base_rev": 1}])
def test_another_deletes_what_it_has_seen(chat: Chat, tab: Writer, other: Writer, seen: dict[str, int]) -> None:
    tab.save(upsert("m1", "one"))
    op = delete("m1", **({"if_ver": 1} if "if_ver" in seen else {}))
    assert other.save(op, base_rev=seen.get("base_rev", 0))["applied"]
    assert chat.texts() == []


@pytest.mark.parametrize("seen", [{}, {"if_ver": 1}])
def test_a_delete_by_one_who_has_not_seen_it_removes_nothing(
    chat: Chat, tab: Writer, other: Writer, seen: dict[str, int]
) -> None:
    tab.save(upsert("m1", "one"))
    tab.save(upsert("m1", "edited"))
    answer = other.save(delete("m1", **seen), base_rev=1)
    assert [(entry["id"], entry["server"]["text"]) for entry in answer["conflicts"]] == [("m1", "edited")]
    assert (chat.texts(), answer["rev"], chat.conflicts()) == (["edited"], 2, [])


def test_an_overtaken_delete_of_ones_own_removes_nothing(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "newer"), seq=5)
    assert tab.save(delete("m1"), seq=4)["conflicts"]
    assert chat.texts() == ["newer"]


def test_a_higher_seq_is_no_reason_to_delete_what_another_wrote(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"), seq=1)
    assert [entry["id"] for entry in other.save(delete("m1"), seq=99)["conflicts"]] == ["m1"]
    assert chat.texts() == ["one"]


def test_a_writer_deletes_in_the_same_request_what_it_has_just_said(chat: Chat, tab: Writer) -> None:
    answer = tab.save(upsert("m1", "one"), delete("m1"))
    assert answer["applied"] == [{"id": "m1", "ver": 1}, {"id": "m1", "ver": 2, "removed": "deleted"}]
    assert (chat.texts(), kept(chat)) == ([], {"m1": ("deleted", "one")})


def test_a_delete_that_overtakes_its_own_message_still_holds(chat: Chat, tab: Writer) -> None:
    assert reasons(tab.save(delete("m1"), seq=2)["ignored"]) == {"m1": "unknown"}
    late = tab.save(upsert("m1", "one"), seq=1)
    assert reasons(late["ignored"]) == {"m1": "removed"}
    assert (chat.texts(), kept(chat)) == ([], {"m1": ("deleted", "one")})


def test_a_remembered_delete_changes_no_rev(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"))
    answer = tab.save(delete("never"))
    assert (answer["prev_rev"], answer["rev"]) == (1, 1)
    assert tab.save(upsert("m2", "two"))["rev"] == 2
    assert chat.texts() == ["one", "two"]


def test_a_deleted_message_cannot_be_deleted_again(tab: Writer) -> None:
    tab.save(upsert("m1", "one"))
    tab.save(delete("m1"))
    assert reasons(tab.save(delete("m1"))["ignored"]) == {"m1": "removed"}


def test_a_save_never_brings_a_message_back(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"))
    tab.save(delete("m1"))
    for writer in (tab, other):
        assert reasons(writer.save(upsert("m1", "one"), base_rev=9)["ignored"]) == {"m1": "removed"}
    for if_ver in (0, 1, 2):
        answer = other.save(upsert("m1", "one", if_ver=if_ver), base_rev=9)
        assert reasons(answer["ignored"]) == {"m1": "removed"}
    assert chat.texts() == []


def test_a_stream_that_goes_on_after_truncate_lengthens_the_kept_text(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("q", "question"), answer_of_ai("a", "The", status="streaming"))
    other.save(truncate("q"), base_rev=1)
    answer = tab.save(answer_of_ai("a", "The answer", status="streaming"))
    assert reasons(answer["ignored"]) == {"a": "removed"}
    assert (chat.texts(), kept(chat), chat.conflicts()) == (["question"], {"a": ("truncated", "The answer")}, [])


def test_other_text_for_a_removed_message_becomes_a_copy(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"))
    tab.save(delete("m1"))
    other.save(upsert("m1", "something else"))
    assert [(copy["id"], copy["text"], copy["reason"]) for copy in chat.conflicts()] == [("m1", "something else", "removed")]
    assert kept(chat) == {"m1": ("deleted", "one")}


def test_text_that_is_contained_in_the_kept_one_becomes_no_copy(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one and more"))
    tab.save(delete("m1"))
    other.save(upsert("m1", "one"))
    assert (chat.conflicts(), kept(chat)) == ([], {"m1": ("deleted", "one and more")})


def test_text_that_its_own_writer_has_superseded_becomes_no_copy(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "final"), seq=2)
    tab.save(delete("m1"), seq=3)
    tab.save(upsert("m1", "draft, late"), seq=1)
    assert (chat.conflicts(), kept(chat)) == ([], {"m1": ("deleted", "final")})


@pytest.mark.parametrize(("by", "seq"), [("remover", 3), ("another", 1), ("another", 9)])
def test_words_for_a_removed_message_that_nothing_supersedes_are_kept(
    chat: Chat, tab: Writer, other: Writer, by: str, seq: int
) -> None:
    """The remover's own later words, and another writer's whatever their number."""
    tab.save(upsert("m1", "one"), seq=1)
    tab.save(delete("m1"), seq=2)
    writer = tab if by == "remover" else other
    answer = writer.save(upsert("m1", "something else"), seq=seq)
    assert reasons(answer["ignored"]) == {"m1": "removed"}
    assert [(copy["text"], copy["reason"]) for copy in chat.conflicts()] == [("something else", "removed")]
    assert kept(chat) == {"m1": ("deleted", "one")}


def test_the_text_of_a_removed_message_is_that_of_who_continued_it_last(chat: Chat, tab: Writer, other: Writer) -> None:
    """What that writer said before is superseded, whatever the numbers of others."""
    tab.save(upsert("m1", "one"), delete("m1"), seq=5)
    other.save(upsert("m1", "one two"), seq=2)
    other.save(upsert("m1", "one, late"), seq=1)
    assert (chat.conflicts(), kept(chat)) == ([], {"m1": ("deleted", "one two")})


def test_a_patch_supersedes_only_what_it_names_also_if_the_message_is_removed(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), delete("m1"), seq=4)
    tab.save(upsert("m1", "one two"), patch("m1", text="one two three"), seq=6)
    tab.save(upsert("m1", "one, late"), seq=5)
    assert [copy["text"] for copy in chat.conflicts()] == ["one, late"]
    assert kept(chat) == {"m1": ("deleted", "one two three")}


def test_words_of_the_very_request_that_removed_the_message_are_kept(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"))
    tab.save(delete("m1"), upsert("m1", "something else"))
    assert [(copy["text"], copy["reason"]) for copy in chat.conflicts()] == [("something else", "removed")]


def test_truncate_takes_out_what_follows(chat: Chat, tab: Writer) -> None:
    tab.save(*(upsert(f"m{number}", str(number)) for number in range(5)))
    answer = tab.save(truncate("m1"))
    assert [entry["id"] for entry in answer["applied"]] == ["m2", "m3", "m4"]
    assert (chat.texts(), answer["rev"]) == (["0", "1"], 2)
    assert {reason for reason, _ in kept(chat).values()} == {"truncated"}


def test_truncate_after_null_takes_out_all(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"))
    tab.save(truncate(None))
    assert chat.texts() == []


def test_truncate_that_names_nothing_takes_out_nothing(chat: Chat, tab: Writer) -> None:
    """`after` left out is a client's mistake, not `null`."""
    tab.save(upsert("m1", "one"))
    answer = tab.save({"op": "truncate"})
    assert answer["rejected"] == [{"id": None, "index": 0, "reason": "bad_after", "message": REASONS["bad_after"]}]
    assert chat.texts() == ["one"]


def test_an_edit_is_one_request(chat: Chat, tab: Writer) -> None:
    """Edit and regenerate: change the question, drop what followed, stream the new answer."""
    tab.save(upsert("q", "first try"), answer_of_ai("a", "old answer"))
    tab.save(upsert("q", "second try"), truncate("q"), answer_of_ai("b", "new", status="streaming"))
    assert chat.texts() == ["second try", "new"]


def test_truncate_takes_out_what_the_same_request_added(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"), truncate("m1"))
    assert (chat.texts(), kept(chat)) == (["one"], {"m2": ("truncated", "two")})
    assert chat.read()["session"]["message_count"] == 1


def test_truncate_spares_what_others_changed_unseen(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"))
    other.save(upsert("m3", "unseen"))
    answer = tab.save(truncate("m1"), base_rev=1)
    assert answer["spared"] == ["m3"]
    assert chat.texts() == ["one", "unseen"]


def test_truncate_takes_out_what_others_changed_once_it_was_seen(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"))
    other.save(upsert("m2", "seen"))
    answer = tab.save(truncate("m1"), base_rev=2)
    assert (answer["spared"], chat.texts()) == ([], ["one"])


@pytest.mark.parametrize("after", ["never", "gone"])
def test_truncate_after_what_is_not_there_is_rejected(chat: Chat, tab: Writer, after: str) -> None:
    tab.save(upsert("gone", "x"), upsert("m1", "one"))
    tab.save(delete("gone"))
    answer: Any = tab.save(truncate(after))
    assert answer["rejected"] == [{"id": after, "index": 0, "reason": "unknown_message", "message": REASONS["unknown_message"]}]
    assert chat.texts() == ["one"]


def test_a_lower_seq_is_no_reason_to_drop_what_another_says_of_a_removed_message(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"), delete("m1"), seq=5)
    assert reasons(other.save(upsert("m1", "other words"), seq=1)["ignored"]) == {"m1": "removed"}
    assert [(copy["id"], copy["text"], copy["reason"]) for copy in chat.conflicts()] == [("m1", "other words", "removed")]
