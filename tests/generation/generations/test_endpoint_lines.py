"""What endpoints send that is JSON and Server-Sent Events all the same, and what is neither."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import orjson
import pytest

from generation_app.generations.model import endpoint
from generation_app.generations.model.pieces import EndpointFailed
from generation_app.streams.formats import AiSdk, OpenAi
from sessions_app.core.serialization.json_text import json_text

END = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


class Sent(httpx.AsyncByteStream):
    """One answer. `pieces`: as they arrive."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self.taken = pieces, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            self.taken += len(piece)
            yield piece


def received(sent: Sent, content_type: str = "text/event-stream") -> tuple[list[Any], str]:
    """The pieces, and why it ended early."""

    async def read() -> tuple[list[Any], str]:
        response = httpx.Response(200, headers={"Content-Type": content_type}, stream=sent)
        found: list[Any] = []
        try:
            async for piece in endpoint._pieces(response):
                found += [(piece.kind, piece.value)]
        except EndpointFailed as failed:
            return found, str(failed)
        return found, ""

    return asyncio.run(read())


def delta(value: str) -> bytes:
    return f'data: {{"choices":[{{"delta":{value}}}]}}\n\n'.encode()


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_separators_of_unicode_end_no_line(separator: str) -> None:
    said = f"one{separator}two"
    assert received(Sent(iter([delta(f'{{"content":"{said}"}}'), END]))) == ([("text", said)], "")


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_lines_may_arrive_byte_by_byte_and_are_utf_8_whatever_the_header_says(ending: bytes) -> None:
    sent = (delta('{"content":"größer"}') + END).replace(b"\n", ending)
    arrived = Sent(sent[at : at + 1] for at in range(len(sent)))
    assert received(arrived, "text/event-stream; charset=iso-8859-1") == ([("text", "größer")], "")


def test_bad_utf_8_costs_one_character() -> None:
    assert received(Sent(iter([delta('{"content":"a?b"}').replace(b"?", b"\xff"), END]))) == ([("text", "a\ufffdb")], "")


def test_a_line_without_an_end_is_not_kept() -> None:
    sent = Sent(b"x" * 100_000 for _ in range(1_000))
    assert received(sent) == ([], "The answer broke off (ValueError).")
    assert sent.taken < 2 * endpoint.LINE_BYTES


@pytest.mark.parametrize("wrong", ['"text"', '["text"]', '{"tool_calls":[{"index":0,"function":"f"}]}', '{"tool_calls":"f"}'])
def test_a_chunk_of_another_shape_loses_nothing_of_the_others(wrong: str) -> None:
    found, error = received(Sent(iter([delta('{"content":"one "}'), delta(wrong), delta('{"content":"two"}'), END])))
    assert ([value for kind, value in found if kind == "text"], error) == (["one ", "two"], "")


def calls(*deltas: str) -> list[Any]:
    """What comes of these lists of pieces of calls."""
    found, error = received(Sent(iter([*(delta(f'{{"tool_calls":{one}}}') for one in deltas), END])))
    assert error == ""
    return [value for kind, value in found if kind == "tool_call"]


def test_calls_without_numbers_are_told_apart_by_their_ids() -> None:
    first = '[{"id":"a","function":{"name":"find","arguments":"{\\"q\\":"}},{"id":"b","function":{"name":"now"}}]'
    more = '[{"id":"a","function":{"arguments":"1}"}}]', '[{"id":"b","function":{"arguments":"{}"}}]'
    wanted = [{"id": "a", "name": "find", "input": {"q": 1}}, {"id": "b", "name": "now", "input": {}}]
    assert calls(first, *more) == wanted


def test_a_piece_without_number_and_id_continues_the_last_call_unless_it_has_a_name() -> None:
    one = '[{"function":{"name":"find","arguments":"{\\"q\\":"}}]', '[{"function":{"arguments":"1}"}}]'
    other = '[{"index":null,"id":null,"function":{"name":"now","arguments":"{}"}}]'
    found = calls(*one, other)
    assert [(call["name"], call["input"]) for call in found] == [("find", {"q": 1}), ("now", {})]
    assert len({call["id"] for call in found}) == 2


def test_calls_under_one_number_with_several_ids_are_several() -> None:
    first, second = (f'[{{"index":0,"id":"{name}","function":{{"name":"{name}","arguments":"{{}}"}}}}]' for name in "ab")
    assert [call["id"] for call in calls(first, second)] == ["a", "b"]


@pytest.mark.parametrize("number", [str(10**30), "1.10", "-0", "0.12345678901234567890"])
def test_numbers_of_arguments_stay_as_they_were_written(number: str) -> None:
    [call] = calls(f'[{{"index":0,"id":"a","function":{{"name":"f","arguments":"{{\\"n\\":{number}}}"}}}}]')
    assert json_text(call["input"]) == f'{{"n":{number}}}'
    chunk = json_text({"type": "tool_call", **call})
    assert f'{{\\"n\\":{number}}}'.encode() in OpenAi("s").chunk(0, chunk)
    assert f'{{"n":{number}}}'.encode() in AiSdk("m").chunk(0, chunk)


@pytest.mark.parametrize("text", ["{", "NaN", '{"n":1e999}', '{"a":1,"a":2}', "[" * 100_000])
def test_arguments_that_cannot_be_stored_as_json_are_text(text: str) -> None:
    piece = orjson.dumps([{"index": 0, "id": "a", "function": {"name": "f", "arguments": text}}]).decode()
    assert calls(piece) == [{"id": "a", "name": "f", "input": text}]


@pytest.mark.parametrize("piece", ['{"index":0,"function":{"arguments":"%s"}}', '{"function":{"name":"%s"}}', '{"index":%d}'])
def test_calls_without_an_end_are_not_kept(piece: str) -> None:
    sent = Sent(delta(f'{{"tool_calls":[{piece % (number if "%d" in piece else "x" * 10_000)}]}}') for number in range(100_000))
    found, error = received(sent)
    assert (found, error) == ([], "The calls of tools are larger than a message can hold.")
    assert sent.taken < 4_000_000
