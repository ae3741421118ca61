from collections.abc import Callable, Iterator

import pytest

from stillhere.langgraph import StillhereSaver, StillhereStore
from tests.clients.python.conftest import PROJECT
from tests.support.live_server import LiveServer


@pytest.fixture
def new_saver(server: LiveServer, secret: str) -> Iterator[Callable[[], StillhereSaver]]:
    """Each has connections of its own, as in another process."""
    made: list[StillhereSaver] = []

    def make() -> StillhereSaver:
        made.append(StillhereSaver(server.url, secret, PROJECT))
        return made[-1]

    yield make
    for saver in made:
        saver.connection.close()


@pytest.fixture
def saver(new_saver: Callable[[], StillhereSaver]) -> StillhereSaver:
    return new_saver()


@pytest.fixture
def store(server: LiveServer, secret: str) -> Iterator[StillhereStore]:
    store = StillhereStore(server.url, secret, PROJECT)
    yield store
    store.connection.close()
