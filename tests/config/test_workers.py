"""Processes that share a port: the kernel spreads connections among them."""

import pickle
import select
import socket
from contextlib import ExitStack

import pytest

from config.server import workers

CONNECTIONS = 64


@pytest.mark.skipif(not workers.SPREADS, reason="only Linux spreads them")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_each_worker_gets_connections_of_its_own(host: str) -> None:
    with ExitStack() as open_now:
        kept = open_now.enter_context(workers.bound_socket(host, 0))
        port = kept.getsockname()[1]
        handed = pickle.dumps(workers.Place(host, port))
        listening: list[socket.socket] = [open_now.enter_context(pickle.loads(handed)) for _ in range(2)]
        for one in listening:
            one.listen(CONNECTIONS)
        for _ in range(CONNECTIONS):
            open_now.enter_context(socket.create_connection((host, port), timeout=10))
        accepted = [0, 0]
        while ready := select.select(listening, [], [], 0.5)[0]:
            for one in ready:
                open_now.enter_context(one.accept()[0])
                accepted[listening.index(one)] += 1
        # By chance a worker would get less once in a thousand million times.
        assert sum(accepted) == CONNECTIONS
        assert min(accepted) >= CONNECTIONS // 8
