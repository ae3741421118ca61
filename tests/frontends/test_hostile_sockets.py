"""Sockets of careless and of hostile clients: the server keeps nothing of them, and tells them what they did wrong."""

import socket
import struct
import time
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from config.server.socket_protocol import MOST_FRAMES
from sessions_app.frontends.sockets import consumer
from tests.support.live_server import LiveServer
from tests.support.server_process import Api, ServerProcess
from tests.support.sockets import RESUME, House, Socket, deaf_socket
from tests.support.stores import Store

PATIENCE_SECONDS = 10.0
PLACES = 3
STILL_SECONDS = 1.0
RESET = struct.pack("ii", 1, 0)


def leave_among_commands(house: House, path: str) -> None:
    """With a reset, while the server answers."""
    address = f"ws://{house.server.host}/ws/events/?project={path}"
    headers = {"Authorization": f"Bearer {house.key}"}
    with connect(address, additional_headers=headers, compression=None, close_timeout=1) as connection:
        for _ in range(500):
            connection.send('{"type": "resume"}')
        connection.recv(timeout=PATIENCE_SECONDS)
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        connection.close_socket()


def is_admitted(house: House, path: str) -> bool:
    try:
        with house.listen(path, since=0) as listener:
            return bool(listener.next()["type"] == "SESSION_CREATED")
    except ConnectionClosed:
        return False


@pytest.mark.slow
def test_a_client_that_leaves_among_its_commands_frees_its_place(store: Store, path: str) -> None:
    with ServerProcess(store, ACCOUNT_SOCKETS=str(PLACES)) as server:
        house = House(server)
        house.api.session(path)
        for _ in range(PLACES + 1):
            leave_among_commands(house, path)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (admitted := is_admitted(house, path)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert admitted
        house.api.close()


@pytest.mark.parametrize("since", ["", "-1", "abc", "3.0", "9" * 30, "9" * 5_000, "٣"])
def test_a_cursor_that_cannot_be_read_is_named(house: House, path: str, since: str) -> None:
    """Else its client would wait for events that it takes for sent."""
    _, session = house.api.session(path)
    with house.listen(path, since=since) as listener:
        frame = listener.next()
        assert (frame["type"], frame["code"]) == ("ERROR", "invalid")
        house.api.save(session, "m1")
        assert listener.until_type("SESSION_SAVED")["event_seq"] == 2


@pytest.mark.parametrize("command", [{"type": "subscribe", "sinc": 0}, {"type": "resume", "since": 0}])
def test_an_unknown_field_is_named(house: House, path: str, command: dict[str, object]) -> None:
    """A misspelt cursor would cost events."""
    _, session = house.api.session(path)
    with house.listen(path) as listener:
        listener.say(**command)
        frame = listener.next()
        assert (frame["type"], frame["code"]) == ("ERROR", "unknown_field")
        assert frame["message"].startswith(f"`{list(command)[1]}` is unknown.")
        house.api.save(session, "m1")
        assert listener.until_type("SESSION_SAVED")["event_seq"] == 2


def test_a_text_that_is_no_text_closes_its_socket_without_a_word(
    house: House, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    house.api.session(path)
    headers = {"Authorization": f"Bearer {house.key}"}
    with connect(f"ws://{house.server.host}/ws/events/?project={path}", additional_headers=headers) as connection:
        connection.send(b'{"type": "\xff"}', text=True)
        assert Socket(connection).closed_with() == 1007
    assert [record for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_a_number_that_the_project_has_not_reached_is_a_resync_in_the_log_too(house: House, path: str) -> None:
    project, _ = house.api.session(path)
    assert house.api.call("GET", f"/projects/{project}/events", since=1)["resync"] is False
    beyond = house.api.call("GET", f"/projects/{project}/events", since=1_000)
    assert (beyond["items"], beyond["event_seq"], beyond["resync"]) == ([], 1, True)


@pytest.mark.parametrize(
    "frame", [b"\x81\x81\0\0\0\0{", b"\x89\x80\0\0\0\0", b"\x00\x80\0\0\0\0"], ids=["messages", "pings", "fragments"]
)
def test_one_that_floods_is_ended(house: House, path: str, frame: bytes) -> None:
    """The server's one loop, which all clients share, would have time for nothing else."""
    house.api.call("POST", "/projects", {"path": path})
    with deaf_socket(house.server.host, path, house.key) as hostile:
        hostile.settimeout(PATIENCE_SECONDS)
        hostile.sendall(b"\x01\x81\0\0\0\0{" if frame[0] == 0 else frame)
        # Refused while it sends, or told so when all was sent.
        with suppress(ConnectionError):
            hostile.sendall(frame * (MOST_FRAMES + 1))
            while hostile.recv(65_536):
                pass


def test_many_messages_that_come_together_are_answered_each(house: House, path: str) -> None:
    house.api.call("POST", "/projects", {"path": path})
    answer = b'"code":"unreadable"'
    with deaf_socket(house.server.host, path, house.key) as wire:
        wire.settimeout(PATIENCE_SECONDS)
        wire.sendall(b"\x81\x81\0\0\0\0{" * (MOST_FRAMES // 2))
        received = b""
        while received.count(answer) < MOST_FRAMES // 2:
            received += wire.recv(65_536)


def asks(deaf: socket.socket) -> socket.socket:
    """For the bundle, of which only the beginning is read."""
    # Several: the kernel takes the first ones in.
    deaf.sendall(RESUME * 8)
    assert deaf.recv(1)
    return deaf


def test_those_who_do_not_read_their_bundle_are_given_no_more_of_them(
    server: LiveServer, secret: str, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Each lies in memory until it was read."""
    monkeypatch.setattr(consumer, "RESUMES_AT_ONCE", 2)
    begun, restore = [0.0], consumer._restore

    def counted(*given: Any) -> Any:
        begun.append(time.monotonic())
        return restore(*given)

    monkeypatch.setattr(consumer, "_restore", counted)
    api = Api(server.url, secret)
    _, session = api.session(path)
    for number in range(15):
        api.save(session, f"m{number}", text="x" * 99_000)
    api.close()
    with ExitStack() as stack:
        deaf = [asks(stack.enter_context(deaf_socket(server.host, path, secret))) for _ in range(2)]
        # Until the kernel takes no more of their bundles.
        while time.monotonic() - begun[-1] < STILL_SECONDS:
            time.sleep(0.05)
        headers = {"Authorization": f"Bearer {secret}"}
        address = f"ws://{server.host}/ws/events/?project={path}"
        with connect(address, additional_headers=headers, compression=None, max_size=None) as connection:
            waits = Socket(connection)
            waits.say(type="resume")
            # Of the other two, which began before.
            told = waits.silence(1)
            assert [frame for frame in told if "data" in frame] == []
            deaf[0].close()
            waits.until(lambda frame: frame["type"] == "SESSION_RESTORED" and "data" in frame)
