"""A socket on which nothing happens keeps little of the request that opened it: there may be thousands."""

import gc
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from websockets.http11 import Response

from config.server.http_protocol import IdleTimeoutProtocol
from config.server.socket_protocol import SocketProtocol
from tests.support.live_server import LiveServer
from tests.support.server_process import Api
from tests.support.sockets import deaf_socket

SOCKETS = 5
KINDS = (SocketProtocol, IdleTimeoutProtocol, Response)
PATIENCE_SECONDS = 10


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Circles that nobody can reach stay, and are counted."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def alive() -> list[int]:
    objects = gc.get_objects()
    return [sum(type(one) is kind for one in objects) for kind in KINDS]


@pytest.mark.usefixtures("transactional_db", "no_collection")
def test_what_read_the_request_of_a_socket_is_let_go_at_once(secret: str, path: str) -> None:
    with LiveServer(http=IdleTimeoutProtocol) as server, ExitStack() as opened:
        api = Api(server.url, secret)
        opened.callback(api.close)
        api.session(path)
        sockets, connections, responses = alive()
        for _ in range(SOCKETS):
            opened.enter_context(deaf_socket(server.host, path, secret))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while alive() != [sockets + SOCKETS, connections, responses]:
            assert time.monotonic() < deadline, alive()
            time.sleep(0.05)
