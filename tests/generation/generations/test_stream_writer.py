"""Chunks of many answers are written together; one that cannot be written fails alone; none is written twice."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from django.db import OperationalError

from generation_app.generations import stream_writer
from generation_app.generations.answer import Answer
from generation_app.generations.model.pieces import Piece
from generation_app.generations.stream_writer import MOST_TOGETHER, StreamWriter
from generation_app.models import Generation
from generation_app.streams.chunk_batches import Append, append_together
from generation_app.streams.queries import chunks_from
from generation_app.streams.services import StreamEnded, append_chunks, end_stream
from sessions_app.core.storage.database_threads import DatabaseThreads
from tests.support.chat import Chat
from tests.support.suite import is_patient

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many answers each transaction wrote."""
    sizes: list[int] = []
    append = append_together

    def counted(appends: list[Append]) -> Any:
        sizes.append(len(appends))
        return append(appends)

    monkeypatch.setattr(stream_writer, "append_together", counted)
    return sizes


@pytest.fixture
def database() -> Iterator[DatabaseThreads]:
    threads = DatabaseThreads(1, "writer")
    yield threads
    threads.close()


def answers(chat: Chat, count: int) -> list[Answer]:
    """Of `count` sessions, each with some text."""
    made = []
    for number in range(count):
        session = Chat(chat.api)
        generation = session.post_plain("generations", {"message": {"text": f"question {number}"}}).json()["generation"]
        answer = Answer(Generation.objects.select_related("owner").get(id=generation), text="", chunk_count=0)
        answer.add(Piece("text", f"first of {number}"))
        made.append(answer)
    return made


def stored(answer: Answer) -> list[Any]:
    append = answer.next_append()
    stream_id = answer._generation.stream_id if append is None else append.stream_id
    assert stream_id is not None
    return [orjson.loads(chunk) for chunk in chunks_from(stream_id, 0)]


def write(database: DatabaseThreads, written: list[Answer]) -> list[Any]:
    """Writes them at once: None or the error of each."""

    async def work() -> list[Any]:
        writer = StreamWriter(lambda one: asyncio.wrap_future(database.submit(one)))
        return await asyncio.gather(*(writer.write(answer) for answer in written), return_exceptions=True)

    return asyncio.run(work())


def test_many_are_written_together(
    chat: Chat, database: DatabaseThreads, batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    most = MOST_TOGETHER if is_patient() else 5
    monkeypatch.setattr(stream_writer, "MOST_TOGETHER", most)
    many = answers(chat, most + 3)
    assert write(database, many) == [None] * len(many)
    assert batches == [most, 3]
    assert [stored(answer) for answer in many] == [[f"first of {number}"] for number in range(len(many))]
    many[0].add(Piece("text", "more"))
    assert write(database, many) == [None] * len(many)
    assert batches == [most, 3, 1], "what has nothing new is not written"
    assert stored(many[0]) == ["first of 0", "more"]


def test_one_that_cannot_be_written_fails_alone(chat: Chat, database: DatabaseThreads) -> None:
    first, ended, last = answers(chat, 3)
    stream = ended.next_append()
    assert stream is not None
    end_stream(caller=stream.caller, stream_id=stream.stream_id)
    errors = write(database, [first, ended, last])
    assert [type(error) for error in errors] == [type(None), StreamEnded, type(None)]
    assert (stored(first), stored(ended), stored(last)) == (["first of 0"], [], ["first of 2"])


def test_a_write_that_was_stored_but_not_seen_is_recognised(chat: Chat, database: DatabaseThreads) -> None:
    [answer] = answers(chat, 1)
    append = answer.next_append()
    assert append is not None
    append_chunks(caller=append.caller, stream_id=append.stream_id, offset=0, chunks=append.chunks)
    assert write(database, [answer]) == [None]
    assert not answer.waits
    assert stored(answer) == ["first of 0"]


def test_cancelled_it_returns_behind_the_write_that_has_begun(chat: Chat, database: DatabaseThreads) -> None:
    begun, waiting = answers(chat, 2)
    go, at_work = threading.Event(), threading.Event()

    def held(one: Callable[[], Any]) -> Any:
        at_work.set()
        assert go.wait(60)
        return one()

    async def work() -> None:
        writer = StreamWriter(lambda one: asyncio.wrap_future(database.submit(lambda: held(one))))
        first = asyncio.create_task(writer.write(begun))
        await asyncio.to_thread(at_work.wait, 60)
        second = asyncio.create_task(writer.write(waiting))
        await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        assert isinstance((await asyncio.gather(second, return_exceptions=True))[0], asyncio.CancelledError)
        assert not first.done()
        go.set()
        assert isinstance((await asyncio.gather(first, return_exceptions=True))[0], asyncio.CancelledError)
        assert not begun.waits

    asyncio.run(work())
    assert (stored(begun), stored(waiting)) == (["first of 0"], [])
    assert waiting.waits


def test_an_error_of_the_database_is_everybody_s_and_nothing_is_lost(chat: Chat, database: DatabaseThreads) -> None:
    pair = answers(chat, 2)

    async def away() -> list[Any]:
        def fail(_work: Any) -> Any:
            raise OperationalError("away")

        writer = StreamWriter(fail)
        return await asyncio.gather(*(writer.write(answer) for answer in pair), return_exceptions=True)

    assert [type(error) for error in asyncio.run(away())] == [OperationalError] * 2
    assert write(database, pair) == [None, None]
    assert [stored(answer) for answer in pair] == [["first of 0"], ["first of 1"]]
