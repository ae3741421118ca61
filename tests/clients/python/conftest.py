from collections.abc import Iterator

import pytest

from stillhere import Client
from tests.clients.python.gate import Gate
from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT

PROJECT = "/home/alice/agents"
SOURCE = ROOT / "clients/python/src"


@pytest.fixture
def gate(server: LiveServer) -> Iterator[Gate]:
    with Gate(server.host) as gate:
        yield gate


@pytest.fixture
def client(server: LiveServer, secret: str) -> Iterator[Client]:
    with Client(server.url, secret, PROJECT) as client:
        yield client
