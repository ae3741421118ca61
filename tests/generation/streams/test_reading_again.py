"""Readers that come back: each continues the stream that it read, and only that."""

import asyncio
import uuid
from typing import Any

import pytest
from django.db import OperationalError

from generation_app.models import StreamPiece
from generation_app.streams.following import CutOff, Followed, written
from generation_app.streams.hub import StreamHub
from generation_app.streams.queries import StreamRow, chunks_from
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


class Hub(StreamHub):
    """A stream of three chunks that has ended as it is looked at; `missing`: what is read of it then."""

    missing: Exception | None = None

    async def _look_at(self, stream_ids: list[uuid.UUID]) -> None:
        for stream_id in stream_ids:
            with self.watch(stream_id) as watched:
                watched.look(3, "complete")

    async def _from_database(self, stream_id: uuid.UUID, offset: int) -> list[str]:
        if offset == 0:
            return ['"a"']
        if self.missing is not None:
            raise self.missing
        return []


def cut_off(missing: Exception | None) -> bytes:
    """What a reader got before it was cut off."""
    row = StreamRow(uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), "/p", "m1", "open", 0)

    got = bytearray()

    async def read() -> None:
        live = Hub(asyncio.get_running_loop())
        live.missing = missing
        async for some in written(live, Followed(row, 0, None)):
            got.extend(some)

    with pytest.raises(CutOff):
        asyncio.run(read())
    return bytes(got)


def test_a_reader_whose_chunks_were_dropped_is_not_told_that_it_has_all(caplog: pytest.LogCaptureFixture) -> None:
    assert cut_off(None) == b'id: 0\ndata: "a"\n\n'
    assert caplog.messages == []


def test_a_reader_whose_database_is_away_is_cut_off_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    assert cut_off(OperationalError("server closed the connection")) == b'id: 0\ndata: "a"\n\n'
    assert caplog.messages == ["a reader of a stream was cut off: OperationalError"]


def test_a_stream_whose_chunks_were_dropped_is_gone_for_who_has_not_all(chat: Chat) -> None:
    stream = begin(chat, "m1", "a", "b")
    append(chat, stream, 2, "c")
    append(chat, stream, 3, "d")
    end(chat, stream)
    StreamPiece.objects.get(first=2).delete()
    answers = [chat.api.get(f"/streams/{stream}?offset={offset}").status_code for offset in range(5)]
    assert answers == [200, 200, 404, 200, 200]
    assert chunks_from(uuid.UUID(stream), 0) == ['"a"', '"b"']
    assert chunks_from(uuid.UUID(stream), 2) == []
    assert chat.api.get(f"/streams/{stream}", **{"Last-Event-ID": "1"}).status_code == 404
    assert chat.api.get(f"/streams/{stream}", **{"Last-Event-ID": "3"}).status_code == 204
