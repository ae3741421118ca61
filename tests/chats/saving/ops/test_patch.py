"""A patch changes the fields that it names, by the rules of an upsert, and loses no text, in whatever order requests come."""

import json
from typing import Any

import pytest

from sessions_app.models import Message
from sessions_app.models.message import EXTRA_BYTES, TEXT_LENGTH
from tests.support.chat import Chat
from tests.support.saves import Op, Writer, answer_of_ai, delete, patch, reasons, truncate, upsert

pytestmark = pytest.mark.django_db
FULL = {"parts": [{"type": "text", "text": "one"}, {"type": "tool", "id": "t"}], "metadata": {"a": 1}, "format": "f",
        "raw": {"b": [2**70]}, "parent_id": "m0"}  # fmt: skip


def only(chat: Chat) -> dict[str, Any]:
    message: dict[str, Any]
    (message,) = chat.read()["messages"]
    return message


def copies(chat: Chat) -> list[tuple[str, str]]:
    return [(copy["text"], copy["reason"]) for copy in chat.conflicts()]


@pytest.mark.parametrize(
    ("fields", "then"),
    [
        ({"metadata": {"x": None}}, {"metadata": {"x": None}}),
        ({"raw": [1.0, 10**40]}, {"raw": [1.0, 10**40]}),
        ({"format": "g"}, {"format": "g"}),
        ({"parent_id": "m9"}, {"parent_id": "m9"}),
        ({"role": "user"}, {"role": "user"}),
        ({"status": "interrupted"}, {"status": "interrupted"}),
        ({"parts": [{"type": "tool"}]}, {"parts": [{"type": "tool"}]}),
        # The text was that of the parts: it still is.
        ({"parts": [{"type": "text", "text": "two"}]}, {"parts": [{"type": "text", "text": "two"}], "text": "two"}),
        ({"text": "two"}, {"text": "two", "parts": [{"type": "text", "text": "two"}, {"type": "tool", "id": "t"}]}),
        ({"text": "two", "parts": [{"type": "tool"}]}, {"text": "two", "parts": [{"type": "tool"}]}),
        ({"metadata": None, "format": None, "parent_id": None}, {"metadata": ..., "format": ..., "parent_id": ...}),
        ({"raw": None}, {"raw": ...}),
        ({"parts": None}, {"parts": [{"type": "text", "text": "one"}]}),
    ],
)
def test_it_changes_what_it_names_and_nothing_else(chat: Chat, tab: Writer, fields: Op, then: Op) -> None:
    tab.save(answer_of_ai("m1", "one", **FULL))
    before = only(chat)
    assert tab.save(patch("m1", **fields))["applied"] == [{"id": "m1", "ver": 2}]
    expected = {name: value for name, value in {**before, "ver": 2, "rev": 2, **then}.items() if value is not ...}
    assert {**only(chat), "updated_at": before["updated_at"]} == expected
    assert chat.read()["session"]["size_bytes"] == Message.objects.get().size_bytes


def test_a_text_in_no_part_stays_apart_from_them(chat: Chat, tab: Writer) -> None:
    parts = [{"type": "text", "text": "shown"}]
    tab.save(answer_of_ai("m1", "said", parts=parts))
    tab.save(patch("m1", text="said more"))
    assert (only(chat)["text"], only(chat)["parts"]) == ("said more", parts)
    tab.save(patch("m1", parts=[{"type": "text", "text": "other"}]))
    assert (only(chat)["text"], only(chat)["parts"][0]["text"]) == ("said more", "other")


def test_a_text_in_several_parts_is_changed_by_its_parts(chat: Chat, tab: Writer) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "tool"}, {"type": "text", "text": "b"}]
    tab.save(answer_of_ai("m1", "ab", parts=parts))
    assert reasons(tab.save(patch("m1", text="abc"))["rejected"]) == {"m1": "text_in_parts"}
    assert tab.save(patch("m1", text="ab", status="interrupted"))["applied"]
    parts[2]["text"] = "bc"
    tab.save(patch("m1", parts=parts))
    assert only(chat)["text"] == "abc"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"text": None}, "bad_text"),
        ({"text": 1}, "bad_text"),
        ({"text": "x" * (TEXT_LENGTH + 1)}, "text_too_long"),
        ({"parts": [{"type": "text", "text": "x" * (TEXT_LENGTH + 1)}]}, "text_too_long"),
        ({"role": None}, "bad_role"),
        ({"role": "nobody"}, "bad_role"),
        ({"status": None}, "bad_status"),
        ({"parts": ["x"]}, "bad_parts"),
        ({"format": 1}, "bad_format"),
        ({"parent_id": "x" * 65}, "bad_parent_id"),
        ({"if_ver": "1"}, "bad_if_ver"),
        # Together with what stays.
        ({"metadata": "x" * (EXTRA_BYTES - 20)}, "too_large"),
        ({"position": 1}, "unknown_field"),
        ({"content": "x"}, "unknown_field"),
        ({"id": ""}, "bad_id"),
    ],
)
def test_a_wrong_field_changes_nothing(chat: Chat, tab: Writer, fields: Op, reason: str) -> None:
    tab.save(answer_of_ai("m1", "one", **FULL))
    before = chat.read()["messages"]
    answer = tab.save(patch("m1", **{"status": "interrupted", **fields}))
    assert [entry["reason"] for entry in answer["rejected"]] == [reason]
    assert (answer["rev"], chat.read()["messages"]) == (answer["prev_rev"], before)


def test_an_unknown_message_is_not_made(chat: Chat, tab: Writer) -> None:
    assert reasons(tab.save(patch("m1", role="user", text="one"))["rejected"]) == {"m1": "unknown_message"}
    assert (chat.texts(), chat.conflicts()) == ([], [])


def test_a_patch_of_nothing_new_is_the_same(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "one", metadata={"a": 1}))
    answer = tab.save(patch("m1"), patch("m1", metadata={"a": 1}), patch("m1", status="streaming"))
    assert [entry["reason"] for entry in answer["ignored"]] == ["same"] * 3
    assert answer["rev"] == 1


def test_ops_of_one_request_build_on_each_other(chat: Chat, tab: Writer) -> None:
    ops = [upsert("m1", "one"), patch("m1", metadata=1), upsert("m1", "two"), patch("m1", text="three"), patch("m1", raw=2)]
    assert [entry["ver"] for entry in tab.save(*ops)["applied"]] == [1, 2, 3, 4, 5]
    assert only(chat)["text"] == "three"
    assert ("metadata" in only(chat), only(chat)["raw"]) == (False, 2)


def test_another_writer_s_patch_needs_to_have_seen_the_message(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"))
    assert other.save(patch("m1", metadata={"a": 1}), base_rev=1)["applied"]
    assert other.save(patch("m1", text="two"), base_rev=1)["applied"]
    late = tab.save(patch("m1", metadata={"b": 2}), patch("m1", text="mine", if_ver=1))
    assert [conflict["server"]["text"] for conflict in late["conflicts"]] == ["two", "two"]
    assert sorted((copy["text"], copy["metadata"]["b" if copy["text"] == "two" else "a"]) for copy in chat.conflicts()) == [
        ("mine", 1),
        ("two", 2),
    ]
    assert tab.save(patch("m1", text="mine", if_ver=3))["applied"]
    assert (only(chat)["text"], only(chat)["metadata"]) == ("mine", {"a": 1})


@pytest.mark.parametrize(("sent", "stays"), [("ab", "ab"), ("abc", "abc"), ("a", "ab"), ("x", "ab")])
def test_two_tabs_that_watch_one_answer_keep_the_longer(chat: Chat, tab: Writer, other: Writer, sent: str, stays: str) -> None:
    tab.save(answer_of_ai("m1", "ab", status="streaming"))
    other.save(patch("m1", text=sent, status="complete"))
    assert (chat.texts(), [copy["text"] for copy in chat.conflicts()]) == ([stays], ["x"] if sent == "x" else [])


def test_who_has_not_seen_a_text_does_not_become_its_writer_by_a_patch_beside_it(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(answer_of_ai("m1", "a long answer", status="streaming"))
    answer = other.save(patch("m1", status="complete"), upsert("m1", "mine", role="assistant"))
    assert [(conflict["id"], conflict["copy_id"] is None) for conflict in answer["conflicts"]] == [("m1", True), ("m1", False)]
    assert (chat.texts(), copies(chat)) == (["a long answer"], [("mine", "conflict")])
    # What is beside the text does not win by its size either.
    assert other.save(patch("m1", text="a long answer", metadata="x" * 99))["conflicts"]
    assert "metadata" not in only(chat)


def test_a_whole_message_with_another_status_only_is_kept_as_before(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one", status="interrupted"))
    (conflict,) = other.save(upsert("m1", "one"))["conflicts"]
    assert (conflict["copy_id"], copies(chat)) == (chat.conflicts()[0]["copy_id"], [("one", "conflict")])


def test_text_that_a_later_patch_of_its_writer_overtook_is_kept(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "one"), seq=1)
    tab.save(patch("m1", metadata={"a": 1}), seq=3)
    late = tab.save(answer_of_ai("m1", "new words"), seq=2)
    assert [conflict["id"] for conflict in late["conflicts"]] == ["m1"]
    assert (chat.texts(), copies(chat)) == (["one"], [("new words", "conflict")])


def test_a_patch_that_a_later_patch_overtook_is_kept(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "one"), seq=1)
    tab.save(patch("m1", metadata={"a": 1}), seq=4)
    assert tab.save(patch("m1", text="new words"), seq=3)["conflicts"]
    # Nothing in it that is not there.
    assert reasons(tab.save(patch("m1", raw=1), seq=2)["ignored"]) == {"m1": "stale"}
    assert (chat.texts(), copies(chat)) == (["one"], [("new words", "conflict")])


def test_what_a_later_upsert_replaced_is_stale(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "one"), seq=1)
    tab.save(patch("m1", text="two"), seq=3)
    tab.save(answer_of_ai("m1", "final"), seq=5)
    assert reasons(tab.save(patch("m1", text="draft"), seq=4)["ignored"]) == {"m1": "stale"}
    assert reasons(tab.save(answer_of_ai("m1", "draft"), seq=2)["ignored"]) == {"m1": "stale"}
    assert (chat.texts(), copies(chat)) == (["final"], [])


def test_the_mark_of_a_patch_outlives_a_removal_and_not_an_undo(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "one"), answer_of_ai("m2", "two"), seq=1)
    tab.save(patch("m1", metadata=1), patch("m2", metadata=2), seq=3)
    tab.save(delete("m1"), seq=4)
    tab.save(answer_of_ai("m1", "late"), seq=2)
    assert copies(chat) == [("late", "removed")]
    chat.clear()
    chat.undo(of=1, epoch=2)
    # It belongs to no writer now.
    assert tab.save(patch("m2", text="unseen"), epoch=2, seq=9, base_rev=1)["conflicts"]
    assert tab.save(patch("m2", text="seen"), epoch=2, seq=10, base_rev=chat.read()["session"]["rev"])["applied"]


def test_a_removed_message_stays_removed_and_the_words_are_kept(chat: Chat, tab: Writer, other: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"))
    tab.save(truncate(None))
    answer = other.save(patch("m1", text="one and more"), patch("m2", text="else"), patch("m2", metadata={"a": 1}))
    assert [entry["reason"] for entry in answer["ignored"]] == ["removed"] * 3
    assert (chat.texts(), copies(chat)) == ([], [("else", "removed")])
    assert {item["id"]: item["text"] for item in chat.removed()} == {"m1": "one and more", "m2": "two"}


def test_a_late_patch_of_a_removed_message_does_not_stand_for_the_upsert_before_it(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "one"), seq=1)
    tab.save(delete("m1"), seq=5)
    tab.save(patch("m1", metadata=1), seq=3)
    tab.save(answer_of_ai("m1", "late"), seq=2)
    assert copies(chat) == [("late", "removed")]


def test_words_of_a_chat_that_was_cleared_are_kept(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"))
    chat.clear()
    ops = [patch("m1", text="late"), patch("m2", metadata={"a": 1}), patch("m2", text=7), patch("m9", text="unknown")]
    late = tab.send(*ops, {"op": "pop"})
    assert (late.status_code, late.json()["error"]["details"]["kept_copies"]) == (409, 1)
    (copy,) = chat.conflicts()
    assert (copy["id"], copy["role"], copy["text"], copy["reason"]) == ("m1", "user", "late", "stale_epoch")


def test_a_retry_is_answered_as_before(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"))
    first, again = (tab.send(patch("m1", text="two"), seq=7) for _ in range(2))
    assert (again.content, again["Idempotent-Replayed"], chat.read()["session"]["rev"]) == (first.content, "true", 2)


SECRET = "sk-ant-" + "api03-" + "Ab1" * 31 + "AA"


@pytest.mark.parametrize("mode", ["off", "flag", "redact"])
def test_secrets_are_found_in_what_is_patched(chat: Chat, tab: Writer, mode: str) -> None:
    project = chat.read()["session"]["project_id"]
    chat.api.patch(f"/projects/{project}", {"settings": {"redaction": mode}})
    tab.save(answer_of_ai("m1", "one", metadata={"key": SECRET}))
    answer = tab.save(patch("m1", text=f"now {SECRET}"))
    found, message = sum(answer["redacted"].values()), only(chat)
    assert found == (0 if mode == "off" else 1)
    assert (SECRET in json.dumps(message)) == (mode != "redact")
    assert sum(message.get("flagged", {}).values()) == {"off": 0, "flag": 2, "redact": 1}[mode]
    # What is gone from the message is not reported again, nor by a patch of something else.
    assert tab.save(patch("m1", text="clean", metadata=None))["redacted"] == {}
    assert ("flagged" in only(chat)) == (mode == "redact")


def test_a_damaged_row_is_patched_without_a_fault(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "one", parts=[{"type": "text", "text": "one"}], metadata=1))
    Message.objects.update(parts="{", metadata="[")
    assert tab.save(patch("m1", text="two"))["applied"]
    assert tab.save(patch("m1", parts=None, metadata=None))["applied"]
    assert chat.texts() == ["two"]
