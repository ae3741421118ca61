"""What is between a browser and the server, in a test's hands."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.browser.frontends import Frontend
from tests.support.live_server import LiveServer

OF_A_SOCKET = b"GET /ws/events/"


class Network:
    """Between the browser and the server. When it dies, the sockets that are open hear nothing more, and nobody is told."""

    def __init__(self, server: LiveServer) -> None:
        host, _, port = server.host.partition(":")
        self._to = (host, int(port))
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        self._all: list[socket.socket] = []
        self._sockets: set[socket.socket] = set()
        self._dead: set[socket.socket] = set()
        # `opened`: the server answered on a socket. What the browser says on one waits while `passes` is cleared.
        self.opened, self.passes = threading.Event(), threading.Event()
        self.passes.set()
        threading.Thread(target=self._let_in, daemon=True).start()

    def die(self) -> None:
        self._dead |= self._sockets
        self._sockets = set()

    def end(self) -> None:
        """The sockets that are open end, and everybody is told."""
        for one in list(self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for one in (self._door, *self._all):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _let_in(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.create_connection(self._to)
                self._all += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._carry, args=(one, other, client), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                if data.startswith(OF_A_SOCKET):
                    self._sockets.add(client)
                elif one is client and client in self._sockets:
                    self.passes.wait()
                elif client in self._sockets:
                    self.opened.set()
                if client not in self._dead:
                    other.sendall(data)
            if client not in self._dead:
                other.shutdown(socket.SHUT_RDWR)
        self._sockets.discard(client)


def save_elsewhere(api: Callable[..., Any], frontend: Frontend, number: int) -> None:
    session = frontend.browser.run("return window.chat.session.id;")
    op = {"op": "upsert", "id": f"elsewhere-{number}", "role": "user", "text": f"said elsewhere {number}"}
    body = {"epoch": 1, "writer_id": "another device", "seq": number, "ops": [op]}
    assert api(frontend.user).post(f"/sessions/{session}/changes", body).status_code == 200
