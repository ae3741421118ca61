"""Values as LangGraph's serializer writes them, as data that pages show; and bytes that nobody should send."""

import enum
import json
import math
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from uuid import UUID

import ormsgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Interrupt, Send
from pydantic import BaseModel, SecretStr

from memory_app.checkpoints import value_previews
from memory_app.checkpoints.message_previews import messages_of, one_line
from memory_app.checkpoints.value_previews import CUT, Decoded, as_json, decode
from sessions_app.core.rendering.blocks.json_tree import render_value

SERIALIZER = JsonPlusSerializer()
LIMIT_SECONDS = 5


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Plan:
    goal: str
    steps: list[Any]


class Order(BaseModel):
    item: str
    plan: Any
    key: SecretStr = SecretStr("hidden")


def shown(value: Any) -> Any:
    decoded = decode(*SERIALIZER.dumps_typed(value))
    assert decoded is not None
    return as_json(decoded.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (b"abc", "3 bytes"),
        (bytearray(b"a"), "1 byte"),
        ({"a": [1, 2.5, True, None, "ü 🙂"], 3: "x", (1, 2): "y"}, {"a": [1, 2.5, True, None, "ü 🙂"], "3": "x", "(1, 2)": "y"}),
        ((1, (2,)), [1, [2]]),
        (UUID(int=255), "00000000-0000-0000-0000-0000000000ff"),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (Decimal("1.50"), "1.50"),
        (ip_address("::1"), "::1"),
        (Path("/a/b"), "/a/b"),
        ({7}, {"set": [7]}),
        (deque([1, 2]), {"deque": [1, 2]}),
        (Colour.RED, 'Colour("red")'),
        (re.compile("a+"), {"compile": ["a+", 32]}),
        (Plan("win", [Colour.RED, {1}]), {"Plan": {"goal": "win", "steps": ['Colour("red")', {"set": [1]}]}}),
        (Order(item="x", plan=None), {"Order": {"item": "x", "plan": None, "key": 'SecretStr("**********")'}}),
        (Send("node", {"n": 1}), {"Send": ["node", {"n": 1}]}),
        ((Interrupt("Go on?", id="i"),), [{"Interrupt": {"value": "Go on?", "id": "i", "response_schema": None}}]),
        (ValueError("wrong"), "ValueError('wrong')"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_become_their_fields(value: Any, expected: Any) -> None:
    assert shown(value) == expected


def test_an_array_is_described() -> None:
    """As LangGraph writes those of numpy: type, shape, order, and bytes."""
    array = ormsgpack.Ext(6, ormsgpack.packb(["<f8", [3, 4], "C", b"\0" * 96]))
    assert decode("msgpack", ormsgpack.packb({"v": array})) == Decoded({"v": "array 3 × 4 of <f8"})


def test_nothing_that_a_value_names_is_imported() -> None:
    named = ormsgpack.packb(["antigravity", "open", ["/etc/passwd"], "call"])
    for code in range(6):
        decoded = decode("msgpack", ormsgpack.packb(ormsgpack.Ext(code, named)))
        assert decoded is not None
        assert as_json(decoded.value) == {"open": ["/etc/passwd"]}


def test_a_conversation_reads_as_one() -> None:
    call = {"name": "weather", "args": {"city": "Paris"}, "id": "c1"}
    blocks: list[str | dict[str, Any]] = [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "https://a/b"}},
    ]
    value = [
        SystemMessage("Be short."),
        HumanMessage("Hi"),
        AIMessage(blocks, tool_calls=[call], name="forecaster"),
        ToolMessage("21 °C", tool_call_id="c1", name="weather", status="error"),
        AIMessageChunk(content="Warm."),
    ]
    for kind, data in (SERIALIZER.dumps_typed(value), ("json", dumps(value).encode())):
        decoded = decode(kind, data)
        assert decoded is not None
        messages = messages_of(decoded.value)
        assert messages is not None
        assert [message.role for message in messages] == ["system", "user", "assistant", "tool", "assistant"]
        assert [message.text for message in messages] == ["Be short.", "Hi", "Look:", "21 °C", "Warm."]
        assert [message.name for message in messages] == ["", "", "forecaster", "", ""]
        assert [part.kind for part in messages[2].parts] == ["text", "other", "call"]
        assert (messages[2].parts[2].name, messages[2].parts[2].value) == ("weather", {"city": "Paris"})
        assert (messages[3].parts[0].name, messages[3].parts[0].failed) == ("weather", True)


def test_messages_that_are_dicts_are_messages_and_other_lists_are_not() -> None:
    for value, roles in [
        ([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}], ["user", "assistant"]),
        ([HumanMessage("Hi").model_dump()], ["user"]),
        (HumanMessage("Hi"), ["user"]),
        ([{"role": "chef", "content": "Hi"}], None),
        ([HumanMessage("Hi"), 3], None),
        ([Plan("a", [])], None),
        ([], None),
        ("Hi", None),
    ]:
        decoded = decode(*SERIALIZER.dumps_typed(value))
        assert decoded is not None
        messages = messages_of(decoded.value)
        assert (None if messages is None else [message.role for message in messages]) == roles, value


def test_of_many_messages_the_last_are_read() -> None:
    kind, data = SERIALIZER.dumps_typed([HumanMessage(f"{number} " + "x" * 400) for number in range(500)])
    decoded = decode(kind, data, last=100)
    assert decoded is not None
    messages = messages_of(decoded.value) or []
    assert (len(messages), decoded.left_out) == (100, 400)
    assert messages[-1].text.startswith("499 ")
    long = decode(*SERIALIZER.dumps_typed([HumanMessage("y" * 15_000) for _ in range(20)]))
    assert long is not None
    texts = [message.text for message in messages_of(long.value) or []]
    assert (texts, long.left_out) == (["y" * 15_000] * 6, 14)
    one = decode(*SERIALIZER.dumps_typed([HumanMessage("y" * 150_000)]))
    assert one is not None
    assert [len(message.text) for message in messages_of(one.value) or []] == [19_001]


def test_what_is_large_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown("x" * 50_000) == "x" * 19_000 + CUT
    assert shown(list(range(1_000)))[-1] == "… 801 more"
    assert shown({str(number): number for number in range(1_000)})[CUT] == "… 801 more"
    nested: list[Any] = []
    for _ in range(100):
        nested = [nested]
    assert CUT in json.dumps(shown(nested), ensure_ascii=False)
    monkeypatch.setattr(value_previews, "MOST_BYTES", 10)
    assert decode("msgpack", b"\x01" * 11) is None


def test_other_serializations_and_damage_are_none() -> None:
    whole = SERIALIZER.dumps_typed({"a": [HumanMessage("Hi")]})[1]
    assert decode("pickle", b"x") is None
    assert decode("msgpack+aes", whole) is None
    for data in (b"", b"{", b'"\xff"', b"[" * 100_000, b"1" * 5_000):
        assert decode("json", data) is None, data[:9]
    for data in (
        b"",
        b"\xc1",
        b"\xa2\xff\xfe",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\x0f\xff\xff\xff\x01",
        b"\x91" * 200_000,
        whole[:-3],
    ):
        assert decode("msgpack", data) is None, data[:9]


def extensions_in_each_other() -> bytes:
    data = b"\x01"
    for _ in range(3_000):
        data = ormsgpack.packb(ormsgpack.Ext(7, data))
    return data


def calls_in_each_other() -> bytes:
    data = b"\xa1x"
    for _ in range(3_000):
        data = ormsgpack.packb(ormsgpack.Ext(0, b"\x93\xa1m\xa1C" + data))
    return data


@pytest.mark.parametrize(
    "make",
    [
        extensions_in_each_other,
        calls_in_each_other,
        lambda: b"\xdd\x00\x0f\x00\x00" + b"\x90" * 0xF0000,
        lambda: b"\x81" + b"\x91" * 900 + b"\x01\x01",
        lambda: b"\xdf\x00\x01\x00\x00" + b"".join(b"\xd3" + (number << 44).to_bytes(8) + b"\x01" for number in range(0x10000)),
        lambda: ormsgpack.packb({"nan": math.nan, "infinite": math.inf, "half": ormsgpack.Ext(99, b"x")}),
        lambda: ormsgpack.packb([ormsgpack.Ext(0, b"\x93\xa1m\xa1N\x01")] * 60_000),
    ],
    ids=["extensions", "calls", "many", "deep key", "keys", "numbers", "objects"],
)
def test_bytes_that_nobody_should_send_take_a_moment(make: Callable[[], bytes]) -> None:
    data, start = make(), time.perf_counter()
    check_shown(decode("msgpack", data))
    assert time.perf_counter() - start < LIMIT_SECONDS


def check_shown(decoded: Decoded | None) -> None:
    """A page can show it, and send it."""
    if decoded is None:
        return
    one_line(decoded.value).encode()
    for message in messages_of(decoded.value) or []:
        message.text.encode()
    render_value(as_json(decoded.value), most=100)[0].encode()


@given(data=st.binary(max_size=200))
@example(data=b'["\\ud800", {"\\udfff": NaN}, 1e999]')
@example(data=b'{"lc": 1, "type": "constructor", "id": ["m", "HumanMessage"], "kwargs": {"content": {"a": 1}}}')
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for kind in ("msgpack", "json", "bytes", "null", "empty", "pickle"):
        check_shown(decode(kind, data))


@given(position=st.integers(0, 2_000), byte=st.integers(0, 255))
def test_a_message_with_any_wrong_byte_is_read_or_refused(position: int, byte: int) -> None:
    kind, data = SERIALIZER.dumps_typed(
        [HumanMessage("Hi"), AIMessage("x", tool_calls=[{"name": "f", "args": {"a": 1}, "id": "1"}])]
    )
    position %= len(data)
    check_shown(decode(kind, data[:position] + bytes([byte]) + data[position + 1 :]))
    check_shown(decode(kind, data[:position]))


NAMES = (
    "type",
    "role",
    "content",
    "additional_kwargs",
    "tool_calls",
    "name",
    "args",
    "id",
    "text",
    "function",
    "lc",
    "kwargs",
    "url",
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(("ai", "user", "HumanMessage"))
)
NESTED = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6), max_leaves=20
)


@given(
    fields=st.lists(st.dictionaries(st.sampled_from(NAMES), NESTED), max_size=3),
    kind=st.sampled_from(("AIMessage", "ToolMessage", "X")),
)
def test_what_is_almost_a_message_is_shown(fields: list[Any], kind: str) -> None:
    check_shown(decode("json", json.dumps(fields).encode()))
    objects = [ormsgpack.Ext(5, SERIALIZER.dumps_typed(("m", kind, {"content": "x", **each}))[1]) for each in fields]
    check_shown(decode("msgpack", ormsgpack.packb(objects)))
