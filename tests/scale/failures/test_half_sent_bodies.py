"""Incomplete requests block nobody: six hundred from one address, and all other clients get responses."""

import contextlib
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.support.machine_speed import allowed
from tests.support.server_process import Api, ServerProcess
from tests.support.sockets import House

pytestmark = [pytest.mark.scale, pytest.mark.timed]
HALF_SENT = 600
# What is held up by them waits for seconds.
PATIENCE_SECONDS = 1


@contextlib.contextmanager
def half_sent(server: ServerProcess, count: int, body: bytes = b"x") -> Iterator[list[socket.socket]]:
    """So many connections, each with the head of a request and the beginning of its body."""
    head = f"POST /login/ HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 4000000\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
            connection.sendall(head + body)
            opened.append(connection)
        yield opened


def seconds_of_a_save(api: Api, session: str, number: int, size: int = 4) -> float:
    began = time.monotonic()
    api.save(session, f"m{number}", writer="w", seq=number, text="x" * size)
    return time.monotonic() - began


def test_half_sent_bodies_hold_up_neither_probes_nor_saves(house: House, path: str) -> None:
    _, session = house.api.session(path)
    with httpx.Client(base_url=house.server.url) as monitor:
        monitor.get("/readyz")
        seconds_of_a_save(house.api, session, 1)
        with half_sent(house.server, HALF_SENT):
            took = []
            for number in range(2, 12):
                for probe in ("/healthz", "/readyz"):
                    began = time.monotonic()
                    assert monitor.get(probe).status_code == 200
                    took.append(time.monotonic() - began)
                # The large one does not arrive in one piece, and is not taken for one of theirs.
                took.append(seconds_of_a_save(house.api, session, number, size=90_000 if number % 2 else 4))
    assert max(took) <= allowed(PATIENCE_SECONDS)


def test_the_bytes_of_half_sent_bodies_are_bounded(house: House, path: str) -> None:
    _, session = house.api.session(path)
    with half_sent(house.server, 20, bytes(3_900_000)):
        took = [seconds_of_a_save(house.api, session, number, size=90_000) for number in range(1, 6)]
    assert max(took) <= allowed(PATIENCE_SECONDS)
