"""Connections that die without a sign: a laptop that slept, a network that was changed, a proxy that forgot."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser
from tests.browser.frontends import Frontend
from tests.browser.module.reading.network import Network, save_elsewhere
from tests.browser.waits import short_waits
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.suite import first_of

# Far less than a browser waits for the answer to its own close.
SOON_SECONDS = 20
SHOWS = "return window.chat._sessionClient.parts.store.list().some(({ text }) => text === args[0]);"
LISTENS = "return window.chat._sessionClient.parts.events.socket?.readyState === 1;"
SHORT_SILENCE = {70_000: 1_500}

pytestmark = [pytest.mark.browser, pytest.mark.once]


def listens(frontend: Frontend) -> None:
    frontend.browser.until(LISTENS)


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
    with short_waits(frontend.browser, SHORT_SILENCE):
        frontend.load()
    frontend.say("m1", "hello")
    frontend.settle()
    listens(frontend)
    network.die()
    save_elsewhere(api, frontend, 1)
    frontend.browser.until(SHOWS, "said elsewhere 1", seconds=SOON_SECONDS)


@pytest.mark.parametrize("tells", first_of([True, False], 1))
def test_a_page_leaves_its_dead_connection_too(
    browser: Browser, frontend: Frontend, network: Network, api: Callable[..., Any], tells: bool
) -> None:
    """`tells`: the browser notices that the network is back."""
    chat = Chat(api(frontend.user))
    chat.say("m1", "hello")
    with short_waits(browser, SHORT_SILENCE) if not tells else nullcontext():
        browser.open(f"{network.url}/sessions/{chat.id}/")
    browser.until("return document.getElementById('live-state').textContent === 'Live';")
    network.die()
    chat.say("m2", "said elsewhere")
    if tells:
        browser.run("dispatchEvent(new Event('online'));")
    browser.until("return document.body.innerText.includes('said elsewhere');", seconds=SOON_SECONDS)


@pytest.fixture
def quick_server(transactional_db: None, settings: Any) -> Iterator[LiveServer]:
    settings.HEARTBEAT_SECONDS = 1
    with LiveServer() as live:
        yield live


def test_a_page_that_could_not_read_what_changed_reads_it_later(
    browser: Browser, quick_server: LiveServer, api: Callable[..., Any], alice: User
) -> None:
    """And not only with the next change, while it says that it is live."""
    chat = Chat(api(alice))
    chat.say("m1", "hello")
    browser.sign_in_as(alice, quick_server.url)
    browser.open(f"{quick_server.url}/sessions/{chat.id}/")
    browser.until("return document.getElementById('live-state').textContent === 'Live';")
    browser.block("*/changes/*")
    chat.say("m2", "said elsewhere")
    browser.until("return document.getElementById('live-state').textContent.startsWith('Not up to date');")
    browser.block()
    browser.until("return document.body.innerText.includes('said elsewhere');", seconds=SOON_SECONDS)
    browser.leave()
