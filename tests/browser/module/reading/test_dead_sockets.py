"""Connections that die without a sign: a laptop that slept, a network that was changed, a proxy that forgot."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser
from tests.browser.frontends import Frontend
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

OF_A_SOCKET = b"GET /ws/events/"
# Far less than a browser waits for the answer to its own close.
SOON_SECONDS = 20
SHOWS = "return window.chat._sessionClient.parts.store.list().some(({ text }) => text === args[0]);"
SHORT_SILENCE = """
    const wait = setTimeout;
    window.setTimeout = (act, milliseconds, ...rest) => wait(act, milliseconds === 70_000 ? 3_000 : milliseconds, ...rest);
"""

pytestmark = [pytest.mark.browser, pytest.mark.once]


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
        threading.Thread(target=self._let_in, daemon=True).start()

    def die(self) -> None:
        self._dead |= self._sockets
        self._sockets = set()

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
                if client not in self._dead:
                    other.sendall(data)
            if client not in self._dead:
                other.shutdown(socket.SHUT_RDWR)
        self._sockets.discard(client)


@pytest.fixture
def network(server: LiveServer) -> Iterator[Network]:
    with closing(Network(server)) as network:
        yield network


@pytest.fixture
def frontend(browser: Browser, network: Network, alice: User) -> Iterator[Frontend]:
    yield Frontend(browser, cast(LiveServer, SimpleNamespace(url=network.url)), alice)
    browser.leave()


def listens(frontend: Frontend) -> None:
    frontend.browser.until("return window.chat._sessionClient.parts.events.socket?.readyState === 1;")


@contextmanager
def short_silence(browser: Browser) -> Iterator[None]:
    """Pages that are opened in this block wait for less than a minute."""
    cdp = browser.driver.execute_cdp_cmd
    added = cdp("Page.addScriptToEvaluateOnNewDocument", {"source": SHORT_SILENCE})
    yield
    cdp("Page.removeScriptToEvaluateOnNewDocument", added)


def save_elsewhere(api: Callable[..., Any], frontend: Frontend, number: int) -> None:
    session = frontend.browser.run("return window.chat.session.id;")
    op = {"op": "upsert", "id": f"elsewhere-{number}", "role": "user", "text": f"said elsewhere {number}"}
    body = {"epoch": 1, "writer_id": "another device", "seq": number, "ops": [op]}
    assert api(frontend.user).post(f"/sessions/{session}/changes", body).status_code == 200


def test_a_dead_connection_is_left_when_the_network_is_back(
    frontend: Frontend, network: Network, api: Callable[..., Any]
) -> None:
    frontend.load()
    frontend.say("m1", "hello")
    frontend.settle()
    browser = frontend.browser
    listens(frontend)
    network.die()
    save_elsewhere(api, frontend, 1)
    browser.run("dispatchEvent(new Event('online'));")
    browser.until(SHOWS, "said elsewhere 1", seconds=SOON_SECONDS)


def test_a_silent_connection_is_left(frontend: Frontend, network: Network, api: Callable[..., Any]) -> None:
    with short_silence(frontend.browser):
        frontend.load()
    frontend.say("m1", "hello")
    frontend.settle()
    listens(frontend)
    network.die()
    save_elsewhere(api, frontend, 1)
    frontend.browser.until(SHOWS, "said elsewhere 1", seconds=SOON_SECONDS)


@pytest.mark.parametrize("tells", [True, False])
def test_a_page_leaves_its_dead_connection_too(
    browser: Browser, frontend: Frontend, network: Network, api: Callable[..., Any], tells: bool
) -> None:
    """`tells`: the browser notices that the network is back."""
    chat = Chat(api(frontend.user))
    chat.say("m1", "hello")
    with short_silence(browser) if not tells else nullcontext():
        browser.open(f"{network.url}/sessions/{chat.id}/")
    browser.until("return document.getElementById('live-state').textContent === 'Live';")
    network.die()
    chat.say("m2", "said elsewhere")
    if tells:
        browser.run("dispatchEvent(new Event('online'));")
    browser.until("return document.body.innerText.includes('said elsewhere');", seconds=SOON_SECONDS)
