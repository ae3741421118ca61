"""What counts as the same request: equality of JSON values, not of bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.core.serialization import strict_json
from sessions_app.core.serialization.json_text import WrittenNumber, fingerprint, json_text
from sessions_app.core.serialization.stored_json import quick_json


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": [1.0, 2]}, {"b": [1, 2.0], "a": 1.0}),
        ({"text": "A sentence. Another."}, {"text": "A sentence. Another."}),
        ({"n": 10**30}, {"n": 10**30}),
        ([{"x": -0.0}], [{"x": 0}]),
        ({"n": WrittenNumber.of(1.1, "1.10"), "m": 10**30}, {"n": 1.1, "m": 10**30}),
    ],
)
def test_values_that_are_equal_as_json_have_one_fingerprint(one: object, other: object) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"), [({"a": 1}, {"a": "1"}), ([1, 2], [2, 1]), ({"a": True}, {"a": 1}), ({"a": 1.5}, {"a": 1})]
)
def test_different_values_have_different_ones(one: object, other: object) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_big_numbers_stay_exact() -> None:
    assert json_text({"n": 10**30}) == '{"n":1000000000000000000000000000000}'


def test_numbers_are_written_back_as_they_were_sent() -> None:
    sent = b'{"ops":[{"op":"upsert","id":"m","raw":{"a":1.10,"b":[1E5,-0,0.1]}}]}'
    value, replaced = strict_json.loads(sent)
    assert json_text(value["ops"][0]["raw"]) == '{"a":1.10,"b":[1E5,-0,0.1]}'
    assert replaced == []


def test_elsewhere_a_number_is_a_number() -> None:
    value, _ = strict_json.loads(b'{"ops":[{"n":1.10,"m":-0}],"base_rev":1.0E1}')
    assert json_text(value) == '{"ops":[{"n":1.1,"m":0}],"base_rev":10.0}'


def test_a_nul_stays_in_what_is_stored_as_json() -> None:
    text = (
        r'{"text":"a\u0000","raw":{"k\u0000":"b\u0000\ud800"},"parts":[{"text":"c\u0000"}],"metadata":"\u0000","role":"\u0000"}'
    )
    value, replaced = strict_json.loads(f'{{"ops":[{text}]}}'.encode())
    [op] = value["ops"]
    assert op == {
        "text": "a\ufffd", "raw": {"k\0": "b\0\ufffd"}, "parts": [{"text": "c\0"}], "metadata": "\0", "role": "\ufffd",
    }  # fmt: skip
    assert replaced == ["ops.0.text", "ops.0.raw.k\0", "ops.0.role"]
    assert json_text(op["metadata"]) == r'"\u0000"'


def test_many_values_below_one_long_name_are_named_in_little_memory() -> None:
    """Their paths would be a thousand times as long as the body, if each had all of the name."""
    name = "k" * 20_000
    _, replaced = strict_json.loads(f'{{"{name}":[{",".join([r'"\u0000"'] * 5_000)}]}}'.encode())
    assert (len(replaced), replaced[-1]) == (5_000, f"{'k' * 64}.4999")
    nested = b'{"a":{"b":{"c":{"d":[' + b",".join([rb'"\ud800"'] * 5_000) + b"]}}}}"
    value, replaced = strict_json.loads(nested)
    assert value["a"]["b"]["c"]["d"] == ["\ufffd"] * 5_000
    assert (len(replaced), replaced[0]) == (1_000, "a.b.c.d.0")


def test_only_numbers_lead_into_a_list() -> None:
    value, replaced = strict_json.loads(rb'{"ops":{"0":{"raw":"\u0000"}},"messages":[{"raw":"\u0000"}]}')
    assert (value["ops"]["0"]["raw"], value["messages"][0]["raw"]) == ("\ufffd", "\0")
    assert replaced == ["ops.0.raw"]


@pytest.mark.parametrize("text", ["NaN", "[1, Infinity]", '{"a": -Infinity}'])
def test_what_is_no_json_number_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match="is no JSON number"):
        quick_json(text)
    assert quick_json("1" + "0" * 400) == 10**400


def any_json() -> st.SearchStrategy[object]:
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    simple = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
    return st.recursive(
        simple, lambda child: st.lists(child, max_size=4) | st.dictionaries(texts, child, max_size=4), max_leaves=20
    )


@given(any_json())
def test_compact_json_is_read_as_any_other(value: object) -> None:
    """It has a way of its own; a space in front leads to the usual one."""
    raw = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    quick, usual = strict_json.loads(raw), strict_json.loads(b" " + raw)
    assert (json_text(quick[0]), quick[1]) == (json_text(usual[0]), usual[1])


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":1,"a":1}', b'{"a":NaN}', b"[1e999]", b"[" * 65 + b"]" * 65, b'{"a":"\xff"}', b'{"a":1}x', b'{"a":1}{"a":1}', b'["',
        b'[{"a":[{"b":1,"b":2}]}]', b'{"a":01}', b'{"a":1,}', b"",
    ],
)  # fmt: skip
def test_compact_json_that_is_ambiguous_or_broken_is_refused(raw: bytes) -> None:
    with pytest.raises(strict_json.UnreadableJson):
        strict_json.loads(raw)


def test_compact_json_keeps_numbers_as_they_were_written() -> None:
    sent = '{"ops":[{"op":"upsert","id":"m","raw":{"a":1.10,"b":[1E5,-0,-0.0,0.1,18446744073709551616]}}]}'
    assert json_text(strict_json.loads(sent.encode())[0]) == sent
