"""A network between the browser and the server, and a frontend behind it."""

from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import cast

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser
from tests.browser.frontends import Frontend
from tests.browser.module.reading.network import Network
from tests.support.live_server import LiveServer


@pytest.fixture
def network(server: LiveServer) -> Iterator[Network]:
    with closing(Network(server)) as network:
        yield network


@pytest.fixture
def frontend(browser: Browser, network: Network, alice: User) -> Iterator[Frontend]:
    yield Frontend(browser, cast(LiveServer, SimpleNamespace(url=network.url)), alice)
    browser.leave()
