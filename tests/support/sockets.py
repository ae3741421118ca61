"""Listeners for tests: sockets to a real server, read until they have what the test waits for."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.support.server_process import ServerProcess

Frame = dict[str, Any]
UNLOGGED = {"HEARTBEAT", "RESYNC", "ERROR", "SESSION_RESTORED", "PLAN_RESTORED"}
PATIENCE_SECONDS = 8.0
# As a frame, masked with zeros.
RESUME = b"\x81\x91\0\0\0\0" + b'{"type":"resume"}'


class Socket:
    """Collects frames; `until` reads on."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.frames: list[Frame] = []

    def say(self, **message: Any) -> None:
        self._connection.send(json.dumps(message))

    def say_text(self, text: str | bytes) -> None:
        self._connection.send(text)

    def next(self, seconds: float = PATIENCE_SECONDS) -> Frame:
        frame: Frame = json.loads(self._connection.recv(timeout=seconds))
        self.frames.append(frame)
        return frame

    def until(self, wanted: Callable[[Frame], bool], seconds: float = PATIENCE_SECONDS) -> Frame:
        deadline = time.monotonic() + seconds
        while True:
            frame = self.next(max(0.01, deadline - time.monotonic()))
            if wanted(frame):
                return frame

    def until_number(self, number: int, seconds: float = PATIENCE_SECONDS) -> None:
        """Read until the logged event with this number has come."""
        if number not in self.numbers:
            self.until(lambda frame: frame["event_seq"] == number and frame["type"] not in UNLOGGED, seconds)

    def until_type(self, type: str, seconds: float = PATIENCE_SECONDS) -> Frame:
        return self.until(lambda frame: frame["type"] == type, seconds)

    def silence(self, seconds: float) -> list[Frame]:
        """What comes in this time, heartbeats left out."""
        heard = []
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                heard.append(self.next(left))
            except TimeoutError:
                break
        return [frame for frame in heard if frame["type"] != "HEARTBEAT"]

    @property
    def numbers(self) -> list[int]:
        """The logged events that came, as they came."""
        return [frame["event_seq"] for frame in self.frames if frame["type"] not in UNLOGGED]

    def closed_with(self, seconds: float = PATIENCE_SECONDS) -> int:
        """The code by which the server ends this socket."""
        deadline = time.monotonic() + seconds
        try:
            while True:
                self.next(max(0.01, deadline - time.monotonic()))
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006


class House:
    """A real server with `ana`, whose key most tests use, and `ben`, who is somebody else."""

    def __init__(self, server: ServerProcess) -> None:
        self.server, self.key, self.foreign_key = server, server.key("ana"), server.key("ben")
        self.api = server.api(self.key)

    @contextmanager
    def listen(
        self, project: str, *, key: str | None = None, ticket: str = "", since: int | str | None = None, **headers: Any
    ) -> Iterator[Socket]:
        """A socket on a project's events: ana's, unless a ticket or another key is given (`key=""`: none)."""
        address = f"ws://{self.server.host}/ws/events/?project={quote(project)}"
        address += f"&ticket={ticket}" if ticket else ""
        address += f"&since={quote(str(since))}" if since is not None else ""
        key = self.key if key is None and not ticket else key
        sent = {**({"Authorization": f"Bearer {key}"} if key else {}), **headers}
        with connect(address, additional_headers=sent, compression=None, close_timeout=2) as connection:
            yield Socket(connection)

    def ticket(self, key: str = "") -> str:
        api = self.server.api(key or self.key)
        ticket: str = api.call("POST", "/ws-tickets")["ticket"]
        api.close()
        return ticket

    def save_from_many(self, session: str, *, writers: int, each: int) -> None:
        """Several writers at once, each with its own connection."""

        def work(writer: int) -> None:
            api = self.server.api(self.key)
            for number in range(each):
                api.save(session, f"w{writer}-{number}", writer=f"writer-{writer}", seq=number + 1)
            api.close()

        threads = [threading.Thread(target=work, args=(writer,)) for writer in range(writers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


@contextmanager
def deaf_socket(host: str, path: str, key: str) -> Iterator[socket.socket]:
    """Open on a project's events, as bytes: nothing reads them but the test, and nothing answers pings."""
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        name, _, port = host.partition(":")
        deaf.connect((name, int(port)))
        lines = (
            f"GET /ws/events/?project={path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13", f"Authorization: Bearer {key}",
        )  # fmt: skip
        deaf.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += deaf.recv(1)
        yield deaf
