"""What an event loop opened ends with it, closed by the caller or not: no socket stays, and nothing warns of one."""

import asyncio
import gc
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from stillhere import AsyncClient
from stillhere.http.event_loops import EventLoops
from tests.clients.python.connections.test_wires import OK, Peer

PROJECT = "00000000-0000-0000-0000-000000000001"
ANSWER = b'{"items": [], "next": null}'


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    peer.answer = OK + b"Content-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)
    yield peer
    peer.listening.close()


@pytest.fixture
def client(peer: Peer) -> AsyncClient:
    return AsyncClient(peer.url, "key", PROJECT, retry_seconds=0)


def unclosed() -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ResourceWarning)
        gc.collect()
    return [str(each.message) for each in seen]


@pytest.mark.slow
def test_a_loop_that_ends_closes_its_connections(peer: Peer, client: AsyncClient) -> None:
    for _ in range(3):
        asyncio.run(client.list_sessions())
        assert unclosed() == []
    assert peer.connections == 3
    assert len(client.connection.event_loops) == 0
    del client
    assert unclosed() == []


def test_connections_of_a_loop_are_used_again_in_it(peer: Peer, client: AsyncClient) -> None:
    async def thrice() -> None:
        for _ in range(3):
            await client.list_sessions()

    asyncio.run(thrice())
    assert peer.connections == 1


def test_a_loop_that_was_closed_without_its_generators_is_forgotten(peer: Peer, client: AsyncClient) -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(client.list_sessions())
    loop.close()
    asyncio.run(client.list_sessions())
    assert len(client.connection.event_loops) == 0
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        del loop
        gc.collect()


def test_a_request_that_outlives_a_close_keeps_no_connection(peer: Peer, client: AsyncClient) -> None:
    async def run() -> None:
        asked = asyncio.create_task(client.list_sessions())
        while not peer.open:
            await asyncio.sleep(0.001)
        await client.close()
        await asked

    asyncio.run(run())
    assert unclosed() == []


def test_loops_of_several_threads_at_once(peer: Peer, client: AsyncClient) -> None:
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(10):
                asyncio.run(client.list_sessions())
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert unclosed() == []


class Idle:
    """Connections, and in place of a loop."""

    async def close(self) -> None:
        """Nothing."""

    def is_closed(self) -> bool:
        return False


def test_loops_that_begin_and_end_while_others_are_looked_through() -> None:
    loops: EventLoops[Idle] = EventLoops(Idle)
    many: Any = [Idle() for _ in range(5_000)]
    failed: list[BaseException] = []

    async def use() -> None:
        await loops.connections()

    def ask() -> None:
        try:
            for _ in range(30):
                asyncio.run(use())
        except BaseException as error:
            failed.append(error)

    for each in many:
        loops._open[each] = each
    threads = [threading.Thread(target=ask) for _ in range(8)]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(usual)
    assert failed == []
