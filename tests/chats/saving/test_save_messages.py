"""What a message may be: bad ones are named and left out, good ones are given back as they came."""

import json
from datetime import timedelta
from typing import Any

import pytest

from sessions_app.chats.saving.message_input import REASONS
from sessions_app.models import Message
from sessions_app.models.times import now
from tests.support.chat import Chat
from tests.support.saves import Writer, answer_of_ai, delete, refusal, upsert

pytestmark = pytest.mark.django_db
PART = {"type": "text", "text": "x"}


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (upsert("m1", "x", role="system"), "bad_role"),
        (upsert("m1", "x", role="tool"), "bad_role"),
        ({**upsert("m1", "x"), "role": ["user"]}, "bad_role"),
        ({"op": "upsert", "id": "m1", "text": "x"}, "bad_role"),
        ({"op": "upsert", "id": "m1", "role": "user", "content": "words where nobody looks for them"}, "no_text"),
        (upsert("m1", "x", status="done"), "bad_status"),
        (upsert("m1", "x", status={}), "bad_status"),
        (upsert("", "x"), "bad_id"),
        ({"op": "upsert", "role": "user", "text": "x"}, "bad_id"),
        ({**upsert("m1", "x"), "id": 7}, "bad_id"),
        (upsert("i" * 65, "x"), "id_too_long"),
        (upsert(".", "x"), "dots_as_id"),
        (upsert("..", "x"), "dots_as_id"),
        (upsert("m1", "x" * 100_001), "text_too_long"),
        ({**upsert("m1", "x"), "text": ["x"]}, "bad_text"),
        (upsert("m1", "x", parts=[PART, "no object"]), "bad_parts"),
        (upsert("m1", "x", parts={"type": "text"}), "bad_parts"),
        (upsert("m1", "x", metadata={"m": "x" * 1_000_000}), "too_large"),
        (upsert("m1", "x", parts=[{"a": "x" * 500_000}], raw="x" * 500_000), "too_large"),
        (upsert("m1", "x", format="f" * 33), "bad_format"),
        (upsert("m1", "x", parent_id="p" * 65), "bad_parent_id"),
        (upsert("m1", "x", if_ver="1"), "bad_if_ver"),
        (upsert("m1", "x", if_ver=True), "bad_if_ver"),
        (delete(""), "bad_id"),
        ({"op": "truncate", "after": 5}, "bad_id"),
        ({"op": "explode", "id": "m1"}, "unknown_op"),
        ({"id": "m1"}, "unknown_op"),
        ({"op": ["upsert"], "id": "m1"}, "unknown_op"),
        ("upsert", "not_an_object"),
        (None, "not_an_object"),
        ([], "not_an_object"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_message_is_named_and_the_others_are_saved(chat: Chat, tab: Writer, op: Any, reason: str) -> None:
    answer = tab.save(upsert("before", "1"), op, upsert("after", "2"))
    (rejected,) = answer["rejected"]
    assert (rejected["index"], rejected["reason"], rejected["message"]) == (1, reason, REASONS[reason])
    named = op.get("id") if isinstance(op, dict) else None
    assert rejected["id"] == (named[:64] if isinstance(named, str) else None)
    assert chat.texts() == ["1", "2"]


def test_limits_are_counted_in_characters_and_taken_to_the_last_one(chat: Chat, tab: Writer) -> None:
    answer = tab.save(upsert("😀" * 64, "😀" * 100_000), upsert("m2", "x", raw="x" * 999_998))
    assert (answer["rejected"], len(answer["applied"])) == ([], 2)
    assert len(chat.texts()[0]) == 100_000


@pytest.mark.parametrize("found", [501, 600])
def test_more_than_500_ops_are_too_many(chat: Chat, tab: Writer, found: int) -> None:
    assert refusal(tab.send(*[{}] * found)) == (413, "too_large")
    assert tab.send(*[{}] * 500).status_code == 200


def test_a_body_over_the_limit_is_refused(tab: Writer, settings: Any) -> None:
    assert refusal(tab.send(upsert("m1", "x"), padding="x" * settings.MAX_BODY_BYTES))[0] == 413


def test_everything_comes_back_as_it_came(chat: Chat, tab: Writer) -> None:
    given: dict[str, Any] = {
        "parts": [{"type": "tool-call", "state": None, "input": {"z": 1, "a": [1.5, -0.0, 10**30, "ü😀"]}}, PART],
        "metadata": {"createdAt": None, "nested": {"b": [], "a": {}}},
        "format": "openai",
        "raw": {"any": ["thing", 12345678901234567890123, False]},
        "parent_id": "m0",
    }
    tab.save(upsert("m1", "text", **given))
    (message,) = chat.read()["messages"]
    assert json.dumps({name: message[name] for name in given}) == json.dumps(given)


@pytest.mark.parametrize("digits", [19, 25, 300, 4_000])
def test_whole_numbers_of_any_size_come_back_exactly_and_hide_no_message(chat: Chat, tab: Writer, digits: int) -> None:
    tab.save(upsert("m1", "text", raw={"n": 10**digits + 1}), upsert("m2", "more"))
    read = chat.read()
    assert read["skipped"] == []
    assert read["messages"][0]["raw"] == {"n": 10**digits + 1}


def test_conflicts_compare_whole_numbers_of_any_size(chat: Chat, tab: Writer) -> None:
    part = {"type": "tool", "n": 10**400}
    tab.save(answer_of_ai("m1", "text", parts=[part]))
    assert Writer(chat).save(answer_of_ai("m1", "text and more", parts=[part, PART]))["applied"]
    whole = {"epoch": 1, "writer_id": tab.id, "seq": 9, "messages": []}
    refused = chat.api.put(f"/sessions/{chat.id}/messages?mode=replace", whole, **{"If-Match": "old"})
    assert refused.json()["error"]["details"]["messages"][0]["parts"][0] == part


def test_what_was_absent_stays_absent(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "text"), upsert("m2", "", parts=[]), upsert("m3", "x", raw=None))
    bare, empty, null = chat.read()["messages"]
    assert not bare.keys() & {"metadata", "format", "raw", "parent_id"}
    assert bare["parts"] == [{"type": "text", "text": "text"}]
    assert (empty["parts"], null["raw"]) == ([], None)


def test_text_left_out_is_the_text_parts_joined(chat: Chat, tab: Writer) -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "file", "text": "no"}, {"type": "text"}, {"type": "text", "text": "two"}]
    tab.save({"op": "upsert", "id": "m1", "role": "user", "parts": parts})
    assert chat.texts() == ["one two"]


def test_what_no_database_can_hold_is_replaced_and_named(chat: Chat, tab: Writer) -> None:
    """In JSON that is returned as it was sent, a NUL can be held."""
    answer = tab.save(upsert("m1", "nul \0 lone \ud800", metadata={"k\0": ["ok\0", "\udfff"]}))
    assert answer["normalized"] == ["ops.0.text", "ops.0.metadata.k\0.1"]
    (message,) = chat.read()["messages"]
    assert (message["text"], message["metadata"]) == ("nul \ufffd lone \ufffd", {"k\0": ["ok\0", "\ufffd"]})


def test_raw_comes_back_as_it_was_written(chat: Chat, tab: Writer) -> None:
    raw = r'{"b":1.10,"a":[1E5,-0,12345678901234567890123],"z":"nul \u0000 é"}'
    body = (
        f'{{"epoch":1,"writer_id":"exact","seq":1,"ops":[{{"op":"upsert","id":"m1","role":"user","format":"my","raw":{raw}}}]}}'
    )
    assert chat.api.post(f"/sessions/{chat.id}/changes", body).status_code == 200
    assert raw.encode() in chat.api.get(f"/sessions/{chat.id}").content


def test_a_nul_in_parts_is_replaced_in_the_text_that_is_searched(chat: Chat, tab: Writer) -> None:
    parts = [{"type": "text", "text": "one\0two"}]
    tab.save({"op": "upsert", "id": "m1", "role": "user", "parts": parts})
    (message,) = chat.read()["messages"]
    assert (message["text"], message["parts"]) == ("one\ufffdtwo", parts)


def test_nothing_is_named_where_nothing_was_replaced(chat: Chat, tab: Writer) -> None:
    answer = tab.save(upsert("m1", "é😀 \\u0000 ￿", metadata={"pair": "😀"}))
    assert answer["normalized"] == []
    assert chat.texts() == ["é😀 \\u0000 ￿"]


def test_a_stream_that_nobody_writes_reads_as_interrupted(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "half", status="streaming"))
    assert chat.read()["messages"][0]["status"] == "streaming"
    Message.objects.update(updated_at=now() - timedelta(seconds=61))
    assert chat.read()["messages"][0]["status"] == "interrupted"
    assert chat.get("messages").json()["items"][0]["status"] == "interrupted"
    resumed = chat.api.get(f"/resume?project={chat.project}").json()
    assert resumed["messages"][0]["status"] == "interrupted"


def test_a_conflict_tells_of_an_interrupted_stream_as_one(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "half", status="streaming"))
    Message.objects.update(updated_at=now() - timedelta(seconds=61))
    answer = Writer(chat).save(answer_of_ai("m1", "other"))
    assert answer["conflicts"][0]["server"]["status"] == "interrupted"


def test_an_interrupted_stream_goes_on_when_its_writer_comes_back(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "half", status="streaming"))
    Message.objects.update(updated_at=now() - timedelta(seconds=61))
    tab.save(answer_of_ai("m1", "half and half", status="streaming"))
    assert chat.read()["messages"][0]["status"] == "streaming"
