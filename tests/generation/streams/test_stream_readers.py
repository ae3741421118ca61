"""Readers of streams on the real server: whenever they come, all get every chunk once and in order; they hold nothing."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from config.server.http_protocol import IdleTimeoutProtocol
from sessions_app.accounts.api_keys import create_key
from sessions_app.core.callers import caller_of_user
from sessions_app.core.text import sha256
from sessions_app.models import ApiKey
from tests.generation.stream_readers import StreamReader
from tests.support.databases import ON_POSTGRESQL
from tests.support.live_server import LiveServer
from tests.support.machine_speed import allowed
from tests.support.server_process import Api, ServerProcess
from tests.support.sockets import House
from tests.support.stores import Store

APPEND = """
import uuid
from generation_app.models import Stream
from generation_app.streams.services import append_chunks
from sessions_app.core.callers import caller_of_user
found = Stream.objects.select_related("owner").get(id=uuid.UUID("{stream}"))
append_chunks(caller=caller_of_user(found.owner), stream_id=found.id, offset={offset}, chunks=['"later"'])
"""


class Held:
    """A stream of a new session, and its producer."""

    def __init__(self, api: Api, path: str) -> None:
        self._api = api
        _, self.session = api.session(path)
        self.id: str = api.call("POST", f"/sessions/{self.session}/streams", {"message": "m1"})["stream"]
        self.offset = 0

    def append(self, *chunks: Any) -> None:
        body = {"offset": self.offset, "chunks": list(chunks)}
        self.offset = self._api.call("POST", f"/streams/{self.id}/chunks", body)["offset"]

    def end(self, **body: Any) -> None:
        self._api.call("POST", f"/streams/{self.id}/end", body)


@pytest.fixture
def held(house: House, path: str) -> Held:
    return Held(house.api, path)


@pytest.fixture
def near(server: LiveServer, secret: str) -> Iterator[Api]:
    """Of a server in this process: what another one would change in its tables, the test changes."""
    api = Api(server.url, secret)
    yield api
    api.close()


@pytest.fixture
def read(house: House, held: Held) -> Callable[..., StreamReader]:
    return lambda path="", **headers: StreamReader(house.server.url, house.key, path or f"/streams/{held.id}", **headers)


def test_a_reader_before_the_first_chunk_gets_each_as_it_comes(held: Held, read: Callable[..., StreamReader]) -> None:
    with read(f"/sessions/{held.session}/stream") as reader:
        for number in range(5):
            held.append(f"chunk {number}")
            assert reader.wait_for_chunks(number + 1)[-1] == f"chunk {number}"
        held.end()
        assert reader.wait_for_end() == "complete"
    assert reader.whole


def test_readers_that_come_at_any_time_get_the_same(held: Held, read: Callable[..., StreamReader]) -> None:
    """Also more than stays in memory, and more than one read of the database."""
    long = "x" * 2_000
    with ExitStack() as stack:
        readers = []
        for number in range(12):
            if number % 3 == 0:
                readers.append(stack.enter_context(read()))
            held.append(*[f"{number}.{part} {long}" for part in range(30)])
        held.end(interrupted=True)
        readers.append(stack.enter_context(read()))
        for reader in readers:
            assert reader.wait_for_end() == "interrupted"
            assert reader.numbers == list(range(360))
            assert reader.chunks == [f"{number}.{part} {long}" for number in range(12) for part in range(30)]


def test_a_reader_that_comes_back_misses_nothing_and_repeats_nothing(held: Held, read: Callable[..., StreamReader]) -> None:
    held.append("a", "b")
    with read() as first:
        first.wait_for_chunks(2)
    held.append("c")
    with read(**{"Last-Event-ID": "1"}) as second:
        held.append("d")
        assert second.wait_for_chunks(2) == ["c", "d"]
        held.end()
        second.wait_for_end()
    assert second.numbers == [2, 3]


def test_the_ai_sdk_s_stream_comes_live_and_ends(held: Held, read: Callable[..., StreamReader]) -> None:
    with read(f"/sessions/{held.session}/stream?as=ai-sdk") as reader:
        held.append("He")
        reader.wait(lambda: any(event.data == {"type": "text-delta", "id": "text-1", "delta": "He"} for event in reader.events))
        held.end()
        reader.wait_for_end()
    assert [event.data if event.data == "[DONE]" else event.data["type"] for event in reader.events] == [
        "start", "text-start", "text-delta", "text-end", "finish", "[DONE]",
    ]  # fmt: skip
    with read(f"/sessions/{held.session}/stream?as=ai-sdk") as late:
        assert late.status == 204


def test_what_another_process_wrote_is_found_within_a_second(house: House, held: Held, read: Callable[..., StreamReader]) -> None:
    """It wakes nobody: as if Redis were away."""
    held.append("first")
    with read() as reader:
        reader.wait_for_chunks(1)
        house.server.shell(APPEND.format(stream=held.id, offset=1))
        committed = time.monotonic()
        assert reader.wait_for_chunks(2) == ["first", "later"]
        assert reader.events[1].at - committed < allowed(1.5)


def test_somebody_else_reads_nothing(house: House, held: Held) -> None:
    held.append("secret")
    for path in (f"/streams/{held.id}", f"/sessions/{held.session}/stream"):
        with StreamReader(house.server.url, house.foreign_key, path) as reader:
            assert reader.status == 404
        assert reader.chunks == []


def test_who_may_read_no_longer_reads_no_longer(server: LiveServer, near: Api, alice: User, path: str) -> None:
    """The row is changed as another process would: nobody is told."""
    made, held = create_key(caller=caller_of_user(alice)), Held(near, path)
    with StreamReader(server.url, made.secret, f"/streams/{held.id}") as reader:
        held.append("a")
        reader.wait_for_chunks(1)
        ApiKey.objects.filter(key_sha256=sha256(made.secret)).update(revoked_at="2020-01-01T00:00:00Z")
        assert reader.wait_for_end() == ""
    assert not reader.whole


def test_a_key_of_one_project_reads_no_further_when_the_session_goes_to_another(
    server: LiveServer, near: Api, alice: User, path: str
) -> None:
    elsewhere, held = f"{path}/elsewhere", Held(near, path)
    near.call("POST", "/projects", {"path": elsewhere})
    key = create_key(caller=caller_of_user(alice), project_path=path).secret
    with StreamReader(server.url, key, f"/streams/{held.id}") as reader:
        held.append("here")
        reader.wait_for_chunks(1)
        near.call("POST", f"/sessions/{held.session}/move", {"to_project": elsewhere})
        assert reader.wait_for_end() == ""
        held.append("there")
    assert reader.chunks == ["here"]
    with StreamReader(server.url, key, f"/streams/{held.id}") as again:
        assert again.status == 404


def test_nobody_waits_for_a_stream_in_the_trash(house: House, held: Held, read: Callable[..., StreamReader]) -> None:
    with read() as reader:
        held.append("a")
        reader.wait_for_chunks(1)
        house.api.call("DELETE", f"/sessions/{held.session}")
        reader.wait(reader.ended.is_set, seconds=10)
    assert not reader.whole


@pytest.mark.slow
def test_a_hundred_readers_hold_no_thread(house: House, held: Held, read: Callable[..., StreamReader]) -> None:
    held.append("first")
    threads = len(list(Path(f"/proc/{house.server.pid}/task").iterdir()))
    with ExitStack() as stack:
        readers = [stack.enter_context(read()) for _ in range(100)]
        for reader in readers:
            reader.wait_for_chunks(1)
        # The pools of the server grow to their sizes with any request.
        assert len(list(Path(f"/proc/{house.server.pid}/task").iterdir())) <= threads + 20
        house.api.save(held.session, "m0")
        held.append("second")
        held.end()
        assert {reader.wait_for_end() for reader in readers} == {"complete"}
        assert {tuple(reader.chunks) for reader in readers} == {("first", "second")}


def test_a_killed_server_has_every_acknowledged_chunk_and_a_stopped_one_lets_readers_go(store: Store, path: str) -> None:
    with ServerProcess(store) as server:
        api = server.api(server.key("ana"))
        held = Held(api, path)
        with StreamReader(server.url, server.key("ana"), f"/streams/{held.id}") as before:
            for number in range(20):
                held.append(f"chunk {number}")
            server.kill()
            before.wait(before.ended.is_set)
        server.start()
        last = str(before.numbers[-1]) if before.numbers else ""
        with StreamReader(server.url, server.key("ana"), f"/streams/{held.id}", **{"Last-Event-ID": last}) as after:
            held.append("after")
            held.end()
            assert after.wait_for_end() == "complete"
        assert before.chunks + after.chunks == [*(f"chunk {number}" for number in range(20)), "after"]
        # Told to stop, it lets its readers go.
        again = Held(api, path)
        with StreamReader(server.url, server.key("ana"), f"/streams/{again.id}") as reader:
            again.append("a")
            reader.wait_for_chunks(1)
            began = time.monotonic()
            server.stop()
            assert reader.wait_for_end() == ""
        assert time.monotonic() - began < allowed(8)
        # Not as a whole answer ends: formats of others have no other sign of it.
        assert not reader.whole
        api.close()


def test_the_protocol_that_serves_sends_it_too(secret: str, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """It sends most answers whole, in one write. A reader that is cut off is no fault, so the log says nothing of it."""
    with LiveServer(http=IdleTimeoutProtocol) as live:
        api = Api(live.url, secret)
        held = Held(api, path)
        held.append("before")
        with StreamReader(live.url, secret, f"/streams/{held.id}") as reader:
            reader.wait_for_chunks(1)
            held.append("after")
            held.end()
            assert reader.wait_for_end() == "complete"
        assert (reader.chunks, reader.whole) == (["before", "after"], True)
        with StreamReader(live.url, secret, f"/sessions/{held.session}/stream") as none:
            assert none.status == 204
        gone = Held(api, path)
        with StreamReader(live.url, secret, f"/streams/{gone.id}") as reader:
            gone.append("a")
            reader.wait_for_chunks(1)
            api.call("DELETE", f"/sessions/{gone.session}")
            assert reader.wait_for_end() == ""
        assert not reader.whole
        api.close()
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.timed
@pytest.mark.skipif(not ON_POSTGRESQL, reason="several processes need PostgreSQL")
def test_readers_at_another_process_are_woken(store: Store, path: str) -> None:
    with ServerProcess(store) as one, ServerProcess(store) as other:
        api = one.api(one.key("ana"))
        held = Held(api, path)
        with StreamReader(other.url, one.key("ana"), f"/streams/{held.id}") as reader:
            delays = []
            for number in range(15):
                held.append(f"chunk {number}")
                sent = time.monotonic()
                reader.wait_for_chunks(number + 1)
                delays.append(reader.events[-1].at - sent)
            held.end()
            assert reader.wait_for_end() == "complete"
        # Who only looks once a second is half a second late.
        assert statistics.median(delays) < allowed(0.25), delays
        api.close()
