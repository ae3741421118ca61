"""What a patch makes of a message: the fields that it names, and those that follow from them."""

import json
from typing import Any

import pytest

from sessions_app.chats.message_content import Content
from sessions_app.chats.saving.message_input import Rejected, Seen, read_message
from sessions_app.chats.saving.message_patch import Append, Patch, patched, read_after
from sessions_app.models.message import EXTRA_BYTES, TEXT_LENGTH

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
PLAIN: dict[str, Any] = {"role": "user", "content": "plain"}
CALLING: dict[str, Any] = {"role": "assistant", "content": "calling", "tool_calls": [CALL]}
# More than half of what a message may have beside its text.
LARGE = "x" * (EXTRA_BYTES * 6 // 10)


def sent(raw: dict[str, Any], form: str = "openai.chat", **more: Any) -> Content:
    """A stored message, as it was sent."""
    return read_message({"id": "m", "format": form, "raw": raw, **more}).content


def after(stored: Content, **named: Any) -> Content:
    return patched(stored, Patch("m", Seen(), named))


def refusal(stored: Content, **named: Any) -> str:
    with pytest.raises(Rejected) as refused:
        after(stored, **named)
    return refused.value.reason


@pytest.mark.parametrize(("one", "other"), [(PLAIN, CALLING), (CALLING, PLAIN), (CALLING, {**CALLING, "content": "again"})])
def test_what_a_framework_s_message_says_follows_its_raw(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert after(sent(one), raw=other) == sent(other)


def test_raw_is_read_in_the_format_that_comes_with_it() -> None:
    own = sent({"any": 1}, "my.own", role="user", text="said")
    assert after(own, raw=CALLING, format="openai.chat") == sent(CALLING)
    changed = after(own, raw=CALLING)
    assert (changed.role, changed.text, changed.parts, json.loads(changed.raw or "")) == ("user", "said", None, CALLING)
    without = after(sent(PLAIN), raw=CALLING, format=None)
    assert (without.role, without.text, without.parts, without.format) == ("user", "plain", None, None)


def test_without_a_new_raw_nothing_follows_from_it() -> None:
    stored = sent(CALLING, text="as sent", role="user")
    changed = after(stored, metadata={"a": 1})
    assert (changed.role, changed.text, changed.parts) == (stored.role, stored.text, stored.parts)
    assert after(stored, raw=None, format=None).text == "as sent"


def test_beside_a_text_only_the_role_follows_unless_it_is_named() -> None:
    changed = after(sent(PLAIN), raw=CALLING, text="sent")
    assert (changed.role, changed.text, changed.parts) == ("assistant", "sent", None)
    assert after(sent(PLAIN), raw=CALLING, text="sent", role="system").role == "system"


def test_parts_that_follow_from_raw_do_not_count_beside_it() -> None:
    stored = Content("user", "", "complete", parts=f'["{LARGE}"]', format="openai.chat", raw=f'"{LARGE}"')
    assert after(stored, metadata={"a": 1}).metadata == '{"a":1}'


@pytest.mark.parametrize(
    "other", [{"format": "my.own", "raw": f'"{LARGE}"'}, {"format": "openai.chat", "metadata": f'"{LARGE}"'}]
)
def test_all_other_parts_count(other: dict[str, Any]) -> None:
    assert refusal(Content("user", "", "complete", parts=f'["{LARGE}"]', **other), status="interrupted") == "too_large"


def test_parts_that_a_patch_names_count_beside_raw() -> None:
    stored = Content("user", "", "complete", format="openai.chat", raw=f'"{LARGE}"')
    assert refusal(stored, parts=[{"type": "data", "data": LARGE}]) == "too_large"


def test_a_text_may_become_as_long_as_any() -> None:
    assert len(after(Content("user", "a", "complete"), text="x" * TEXT_LENGTH).text) == TEXT_LENGTH


def test_parts_that_are_no_list_stay_as_they_are() -> None:
    changed = after(Content("user", "", "complete", parts='{"a":1}'), text="words")
    assert (changed.text, changed.parts) == ("words", '{"a":1}')


def test_of_all_parts_only_the_text_s_changes_with_the_text() -> None:
    others: list[Any] = ["stray", {"type": "reasoning", "text": "why"}]
    stored = Content("user", "one", "complete", parts=json.dumps([*others, {"type": "text", "text": "one"}]))
    assert json.loads(after(stored, text="two").parts or "") == [*others, {"type": "text", "text": "two"}]


def test_an_append_is_a_patch_of_the_version_that_it_names() -> None:
    seen = Seen(3)
    assert Append("m", seen, 2, "!").as_patch("ab..") == Patch("m", seen, {"text": "ab!"})


def test_a_truncate_says_after_what() -> None:
    assert (read_after({"after": None}), read_after({"after": "m1"})) == (None, "m1")
    with pytest.raises(Rejected) as refused:
        read_after({})
    assert refused.value.reason == "bad_after"


@pytest.mark.parametrize(
    ("said", "again"),
    [("plain", "changed"), ({"value": "plain", "annotations": [1]}, {"value": "changed", "annotations": [1]})],
)
def test_a_changed_text_changes_the_part_that_has_it(said: Any, again: Any) -> None:
    """OpenAI's assistants have the text as an object, of which the rest stays."""
    parts = [{"type": "text", "text": said, "more": 1}, {"type": "image"}]
    stored = sent({"any": 1}, "my.own", role="user", text="plain", parts=parts)
    assert json.loads(after(stored, text="changed").parts or "") == [
        {"type": "text", "text": again, "more": 1},
        {"type": "image"},
    ]
