"""What a connection may send that needs no key: a head of some length, some requests at once, and no trailers."""

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from django.contrib.auth.models import User
from uvicorn.server import ServerState

from config.server import http_protocol
from config.server.http_protocol import HEAD_BYTES, MOST_HEADERS, MOST_WAITING, IdleTimeoutProtocol
from sessions_app.accounts.api_keys import create_key
from sessions_app.core.callers import caller_of_user
from tests.support.live_server import LiveServer

STATUS = re.compile(rb"HTTP/1\.1 (\d+) ")
PROBE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = b"POST /api/v1/projects HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n"
MB = 1_000_000


@pytest.fixture
def live(transactional_db: None) -> Iterator[LiveServer]:
    with LiveServer(http=IdleTimeoutProtocol) as server:
        yield server


def connected(live: LiveServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(live.host.rpartition(":")[2])), timeout=30)


def all_of(wire: socket.socket) -> bytes:
    return b"".join(iter(lambda: wire.recv(65_536), b""))


def sent(live: LiveServer, *pieces: bytes) -> bytes:
    """All that comes back until the server ends the connection."""
    with connected(live) as wire:
        for piece in pieces:
            wire.sendall(piece)
        return all_of(wire)


def statuses(received: bytes) -> list[int]:
    return [int(status) for status in STATUS.findall(received)]


def test_a_few_requests_at_once_are_answered_in_order(live: LiveServer) -> None:
    asked = [(b"/healthz", 200) if number % 3 else (b"/api/v1/keys", 401) for number in range(MOST_WAITING + 1)]
    with connected(live) as wire:
        for _ in range(3):
            wire.sendall(b"".join(b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % path for path, _ in asked))
            received = b""
            while len(statuses(received)) < len(asked) or not received.endswith((b"}", b"ok")):
                received += wire.recv(65_536)
            assert statuses(received) == [status for _, status in asked]


def test_of_more_at_once_as_many_are_answered_as_may_wait(live: LiveServer, subtests: pytest.Subtests) -> None:
    for more in (1, 5_000):
        with subtests.test(more=more):
            received = sent(live, (PROBE + b"\r\n") * (MOST_WAITING + 1 + more))
            assert statuses(received) == [200] * (MOST_WAITING + 1)
            assert received.count(b"connection: close") == 1
            assert received.rfind(b"HTTP/1.1 ") < received.find(b"connection: close")


def test_who_sends_requests_for_ever_is_cut_off(live: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "REST_BYTES", MB)
    waiting: set[int] = set()
    complete = IdleTimeoutProtocol.on_headers_complete

    def watched(self: IdleTimeoutProtocol) -> None:
        complete(self)
        waiting.add(len(self.pipeline))

    monkeypatch.setattr(IdleTimeoutProtocol, "on_headers_complete", watched)
    with connected(live) as wire, pytest.raises(OSError, match=r"reset|[Bb]roken"):
        wire.sendall(b"GET /healthz HTTP/1.1\r\n\r\n" * MB)
    assert max(waiting) <= MOST_WAITING


class _Wire(asyncio.Transport):
    closed = paused = False

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def write(self, data: Any) -> None:
        pass


def test_nothing_is_read_while_requests_wait() -> None:
    asyncio.run(_wait_in_line())


async def _wait_in_line() -> None:
    begun: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        begun.put_nowait(may_end := asyncio.Event())
        await may_end.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    configuration = uvicorn.Config(application, log_config=None, lifespan="off")
    protocol, wire = IdleTimeoutProtocol(configuration, ServerState(), {}), _Wire()
    protocol.connection_made(wire)
    protocol.data_received((PROBE + b"\r\n") * 3 + PROBE)
    seen = []
    for _ in range(3):
        may_end = await begun.get()
        seen.append((len(protocol.pipeline), wire.paused))
        # Half a request is behind them. Its client cannot send the rest as long as nothing is read.
        protocol._head_is_due()
        assert wire.closed is not wire.paused
        may_end.set()
    assert seen == [(2, True), (1, True), (0, False)]
    protocol.connection_lost(None)


def test_the_first_of_several_requests_learns_that_its_client_has_gone() -> None:
    asyncio.run(_go_away())


async def _go_away() -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        for _ in range(2):
            told.put_nowait((await receive())["type"])
        await send({"type": "http.response.start", "status": 204, "headers": []})

    configuration = uvicorn.Config(application, log_config=None, lifespan="off")
    protocol = IdleTimeoutProtocol(configuration, ServerState(), {})
    protocol.connection_made(_Wire())
    protocol.data_received((PROBE + b"\r\n") * 2)
    assert await told.get() == "http.request"
    protocol.connection_lost(None)
    assert await told.get() == "http.disconnect"


LARGE = {
    "a long address": [b"GET /healthz?", *[b"a" * 100_000] * 20],
    "a long header": [PROBE + b"x: ", *[b"a" * 100_000] * 20],
    "many headers": [PROBE, *[b"x: y\r\n" * 20_000] * 20],
    "one read": [PROBE + b"x: " + b"a" * HEAD_BYTES + b"\r\n\r\n"],
    "a header too many": [PROBE + b"x: y\r\n" * MOST_HEADERS + b"\r\n"],
    "trailers": [CHUNKED + b"\r\n1\r\n{\r\n0\r\n", *[b"x: y\r\n" * 20_000] * 3],
    "a long trailer": [CHUNKED + b"\r\n1\r\n{\r\n0\r\nx: ", *[b"a" * 100_000] * 3],
}


def test_a_head_is_limited(live: LiveServer, subtests: pytest.Subtests) -> None:
    for name in LARGE:
        with subtests.test(name):
            is_limited(live, name)


def is_limited(live: LiveServer, name: str) -> None:
    with connected(live) as wire:
        try:
            for piece in LARGE[name]:
                wire.sendall(piece)
            received = all_of(wire)
        except ConnectionError:
            # The application would still be waiting for the body that the trailers end: this connection cannot be read on.
            assert "trailer" in name
            return
    head, _, body = received.partition(b"\r\n\r\n")
    assert statuses(received) == [431]
    assert b"connection: close" in head
    assert b"x-content-type-options: nosniff" in head
    assert json.loads(body)["error"]["code"] == "head_too_large"


def test_what_is_within_the_limits_is_answered(live: LiveServer) -> None:
    with connected(live) as wire:
        for request in (
            b"GET /healthz?" + b"a" * 60_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            PROBE + b"x: " + b"a" * 60_000 + b"\r\n\r\n",
            PROBE + b"x: y\r\n" * (MOST_HEADERS - 1) + b"\r\n",
            # Bodies count for nothing, and neither do heads that come with them.
            b"POST /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200000\r\n\r\n" + b"a" * 200_000 + PROBE + b"\r\n",
            PROBE + b"Connection: close\r\n\r\n",
        ):
            wire.sendall(request)
        assert statuses(all_of(wire)) == [200, 200, 200, 403, 200, 200]


def test_a_refusal_is_not_taken_for_the_answer_to_an_earlier_request(live: LiveServer) -> None:
    for behind in (b"nonsense\r\n\r\n", PROBE + b"x: " + b"a" * HEAD_BYTES + b"\r\n\r\n"):
        received = sent(live, (PROBE + b"\r\n") * 2 + behind)
        assert statuses(received) == [200, 200], behind[:20]


def test_trailers_are_no_headers(live: LiveServer, alice: User) -> None:
    key = create_key(caller=caller_of_user(alice)).secret
    trailer = b"Authorization: Bearer %b\r\n" % key.encode()
    body = b"Content-Type: application/json\r\n%b\r\n2\r\n{}\r\n0\r\n%b\r\n"
    last = PROBE + b"Connection: close\r\n\r\n"
    assert statuses(sent(live, CHUNKED + body % (b"", trailer) + last)) == [401, 200]
    assert statuses(sent(live, CHUNKED + body % (trailer, b"") + last))[0] not in {400, 401}
