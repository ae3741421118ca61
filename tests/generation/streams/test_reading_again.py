"""Readers that come back: each continues the stream that it read, and only that."""

from typing import Any

import pytest

from tests.generation.streams.test_streams import append, end, events
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db


def begin(chat: Chat, message: str, *chunks: str) -> str:
    stream = str(chat.post_plain("streams", {"message": message}).json()["stream"])
    append(chat, stream, 0, *chunks)
    return stream


def data(answer: Any) -> list[str]:
    return [event["data"] for event in events(answer)]


def test_a_reader_of_a_session_gets_all_of_its_next_stream(chat: Chat) -> None:
    first = begin(chat, "m1", "a", "b", "c")
    last = events(chat.get("stream"))[-1]["id"]
    append(chat, first, 3, "d")
    again = {"Last-Event-ID": last}
    assert data(chat.api.get(f"/sessions/{chat.id}/stream", **again)) == ['"d"']
    assert data(chat.api.get(f"/streams/{first}", **again)) == ['"d"']
    end(chat, first)
    assert chat.api.get(f"/sessions/{chat.id}/stream", **again).status_code == 204
    begin(chat, "m2", "A", "B")
    assert data(chat.api.get(f"/sessions/{chat.id}/stream", **again)) == ['"A"', '"B"']


@pytest.mark.parametrize("last", ["0", "x", "x:0", ":0", "0:", "0:x", "9" * 20, "é:1"])
def test_other_ids_are_numbers_or_none(chat: Chat, last: str) -> None:
    stream = begin(chat, "m1", "a", "b")
    for address in (f"/sessions/{chat.id}/stream", f"/streams/{stream}"):
        assert data(chat.api.get(address, **{"Last-Event-ID": last})) == (['"b"'] if last == "0" else ['"a"', '"b"'])
