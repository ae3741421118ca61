"""Sockets whose clients send and read nothing: the server keeps little for them, and not for ever."""

import socket
import time
from collections.abc import Callable, Iterator

import pytest
from django.utils.timezone import now

from config.server import socket_protocol, stalls
from config.server.http_protocol import IdleTimeoutProtocol
from sessions_app.models import ApiKey
from tests.support.live_server import LiveServer
from tests.support.server_process import Api
from tests.support.sockets import RESUME, deaf_socket

PINGS = (b"\x89\xfd\0\0\0\0" + b"x" * 125) * 1_000
MANY_PINGS = 120
KEPT_BYTES = 2_000_000
PATIENCE_SECONDS = 60


@pytest.fixture
def server(transactional_db: None) -> Iterator[LiveServer]:
    """With the protocols that `serve` has."""
    with LiveServer(http=IdleTimeoutProtocol) as live:
        yield live


@pytest.fixture
def project(server: LiveServer, secret: str, path: str) -> str:
    """With a session of 1.5 MB."""
    api = Api(server.url, secret)
    _, session = api.session(path)
    for number in range(15):
        api.save(session, f"m{number}", text="x" * 99_000)
    api.close()
    return path


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_answers_to_pings_that_nobody_reads_are_not_kept(
    server: LiveServer, secret: str, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_protocol, "MOST_FRAMES", 10**9)
    with deaf_socket(server.host, project, secret) as deaf:
        for _ in range(MANY_PINGS):
            deaf.sendall(PINGS)
        assert max(server.waits_to_be_taken) < KEPT_BYTES
        # The answer to the newest one comes when the others are read.
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_000_000)
        deaf.sendall(b"\x89\x84\0\0\0\0last")
        received = b""
        while b"\x8a\x04last" not in received:
            received = received[-200:] + deaf.recv(65_536)


def test_a_socket_whose_end_nobody_reads_is_ended(
    server: LiveServer, secret: str, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would stay, with all that was written, and count as no socket of the account."""
    monkeypatch.setattr(stalls, "STALLED_SECONDS", 1)
    with deaf_socket(server.host, project, secret) as deaf:
        # Several: the kernels take the first ones.
        deaf.sendall(RESUME * 8)
        wait_until(lambda: sum(server.waits_to_be_taken) > 0)
        ApiKey.objects.update(revoked_at=now())
        wait_until(lambda: server.waits_to_be_taken == [])


def test_a_request_whose_answer_nobody_reads_is_ended(
    server: LiveServer, secret: str, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stalls, "STALLED_SECONDS", 1)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        name, _, port = server.host.partition(":")
        deaf.connect((name, int(port)))
        head = f"GET /api/v1/resume?project={project} HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {secret}\r\n\r\n"
        deaf.sendall(head.encode() * 8)
        wait_until(lambda: sum(server.waits_to_be_taken) > 0)
        wait_until(lambda: server.waits_to_be_taken == [])
