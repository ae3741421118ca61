from collections.abc import Callable, Iterator

import pytest

from stillhere import Client
from stillhere.pydantic_ai import StillhereConversationStore
from tests.clients.python.conftest import PROJECT
from tests.support.live_server import LiveServer


@pytest.fixture
def new_store(server: LiveServer, secret: str) -> Iterator[Callable[[], StillhereConversationStore]]:
    """Each as in another process."""
    clients: list[Client] = []

    def make() -> StillhereConversationStore:
        clients.append(Client(server.url, secret, PROJECT))
        return StillhereConversationStore(client=clients[-1])

    yield make
    for client in clients:
        client.close()
