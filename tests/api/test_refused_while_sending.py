"""A client that is still sending when its request is refused reads the refusal: the rest of its body is read and thrown away."""

import http.client
import socket
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest

from config.server import http_protocol
from tests.support.live_server import LiveServer

EIGHT_MB = 8_000_000


@pytest.fixture
def live(transactional_db: None) -> Iterator[LiveServer]:
    with LiveServer(http=http_protocol.IdleTimeoutProtocol) as server:
        yield server


def port_of(live: LiveServer) -> int:
    return int(live.host.rpartition(":")[2])


def head(live: LiveServer, length: str = f"Content-Length: {EIGHT_MB}") -> bytes:
    return f"POST /api/v1/projects HTTP/1.1\r\nHost: {live.host}\r\n{length}\r\n\r\n".encode()


def connected(live: LiveServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(live)), timeout=30)


def all_of(wire: socket.socket) -> bytes:
    return b"".join(iter(lambda: wire.recv(65_536), b""))


@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_that_sends_all_first_reads_the_413(live: LiveServer, *, chunked: bool) -> None:
    for _ in range(3):
        connection = http.client.HTTPConnection("127.0.0.1", port_of(live), timeout=30)
        body = (bytes(100_000) for _ in range(EIGHT_MB // 100_000)) if chunked else bytes(EIGHT_MB)
        connection.request("POST", "/api/v1/projects", body, encode_chunked=chunked)
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Connection"]) == (413, "close")
        assert b"body_too_large" in answer.read()
        connection.close()


def test_the_connection_ends_with_the_body_and_answers_nothing_more(live: LiveServer) -> None:
    with connected(live) as wire:
        wire.sendall(head(live))
        answer = wire.recv(100)
        for _ in range(EIGHT_MB // 100_000 - 1):
            wire.sendall(bytes(100_000))
        with suppress(ConnectionError):  # What arrives behind the end is refused with a reset.
            wire.sendall(bytes(100_000) + b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            while piece := wire.recv(65_536):
                answer += piece
        assert answer.count(b"HTTP/1.1 ") == 1


def test_who_stops_sending_or_sends_too_much_is_cut_off(live: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "REST_SECONDS", 0.3)
    monkeypatch.setattr(http_protocol, "REST_BYTES", 1_000_000)
    with connected(live) as silent, connected(live) as endless:
        silent.sendall(head(live) + b"x")
        assert b" 413 " in all_of(silent)
        with pytest.raises(OSError, match=r"reset|[Bb]roken"):
            endless.sendall(head(live, "Content-Length: 900000000") + bytes(500_000_000))


def test_as_many_as_are_allowed_send_their_rest(live: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "MOST_RESTS", 2)
    with connected(live) as first, connected(live) as second, connected(live) as third:
        for wire in (first, second, third):
            wire.sendall(head(live))
            wire.recv(100)
        assert httpx.get(f"{live.url}/healthz").status_code == 200
        all_of(first)  # It is closed, for it was refused first.
        for wire in (second, third):
            wire.sendall(bytes(EIGHT_MB))
            assert b"body_too_large" in all_of(wire)
    assert not http_protocol.IdleTimeoutProtocol.rests
