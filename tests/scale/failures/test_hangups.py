"""Clients that leave before their answer, and servers that are told to end: what arrived whole is kept."""

import json
import random
import signal
import socket
import struct
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from websockets.sync.client import connect

from tests.scale.logged_writers import Writer, all_messages, problems
from tests.support.server_process import ServerProcess
from tests.support.stores import Store
from tests.support.suite import is_patient

pytestmark = pytest.mark.scale
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
PATIENCE_SECONDS = 10
RESUMED_SECONDS = 5


@pytest.fixture
def server(store: Store) -> Iterator[ServerProcess]:
    with ServerProcess(store) as process:
        yield process


def send_and_reset(server: ServerProcess, key: str, session: str, number: int) -> None:
    """The whole request, then a connection that is reset at once."""
    ops = [{"op": "upsert", "id": f"m{number}", "role": "user", "text": f"left {number}"}]
    body = json.dumps({"epoch": 1, "writer_id": str(uuid.uuid4()), "seq": 1, "ops": ops}).encode()
    head = (
        f"POST /api/v1/sessions/{session}/changes HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(head.encode() + body)
        # A reset discards what the server has not read yet; the promise is about what has arrived.
        wait_until_read(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)


def wait_until_read(connection: socket.socket) -> None:
    """Until the server's kernel has acknowledged every byte, plus the moment in which its loop takes them."""
    import fcntl
    import termios

    while struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4))[0]:
        time.sleep(0)
    time.sleep(0.001)


def wait_until(true: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def hang_up(server: ServerProcess, times: int) -> None:
    key = server.key("ana")
    api = server.api(key)
    _, session = api.session("/left")
    for number in range(times):
        send_and_reset(server, key, session, number)
    wait_until(lambda: len(all_messages(api, session)) == times, PATIENCE_SECONDS)
    api.close()


def test_a_save_whose_client_hung_up_is_kept(server: ServerProcess) -> None:
    hang_up(server, 50 if is_patient() else 25)


@pytest.mark.prove
def test_five_hundred_saves_whose_clients_hung_up_are_kept(server: ServerProcess) -> None:
    hang_up(server, 500)


def all_went_on(writers: list[Writer], heard: list[int]) -> bool:
    return all(len(writer.acks) > before for writer, before in zip(writers, heard, strict=True))


def end_often(server: ServerProcess, times: int) -> None:
    """SIGTERM under writers and with a socket open: what was received is answered within the grace, the server ends without an
    error, and once another one serves everybody goes on."""
    key = server.key("ana")
    api = server.api(key)
    sessions = [api.session(f"/ends/{number}")[1] for number in range(4)]
    writers = [Writer(server.url, key, session, f"w{number}") for number, session in enumerate(sessions)]
    headers = {"Authorization": f"Bearer {key}"}
    stop = threading.Event()
    threads = [threading.Thread(target=writer.run, args=(stop,)) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        for _ in range(times):
            time.sleep(random.uniform(0.1, 0.4))
            with connect(f"ws://{server.host}/ws/events/?project=/ends/0", additional_headers=headers, close_timeout=1):
                began = time.monotonic()
                server.signal(signal.SIGTERM)
                assert server.wait(15) in {0, -signal.SIGTERM}
                assert time.monotonic() - began <= 10
            heard = [len(writer.acks) for writer in writers]
            server.start()
            wait_until(partial(all_went_on, writers, heard), RESUMED_SECONDS)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert problems(writers, {session: all_messages(api, session) for session in sessions}) == []
    api.close()


@pytest.mark.timed
def test_a_server_that_is_told_to_end_answers_what_it_received(server: ServerProcess) -> None:
    end_often(server, 3 if is_patient() else 2)


@pytest.mark.prove
@pytest.mark.timeout(1200)
def test_fifty_ends_lose_nothing(server: ServerProcess) -> None:
    end_often(server, 50)
