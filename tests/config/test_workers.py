"""Processes that share a port: the kernel spreads connections among them."""

import os
import pickle
import select
import socket
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

from config.server import workers
from tests.support.server_process import ROOT

CONNECTIONS = 64
SUPERVISOR = """
import multiprocessing, time
from tests.config.test_workers import work
multiprocessing.get_context("spawn").Process(target=work).start()
time.sleep(60)
"""


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


def work() -> None:
    workers.end_with_supervisor()
    os.write(1, b"at work\n")
    time.sleep(60)


def test_a_worker_ends_when_the_process_above_it_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", SUPERVISOR], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "at work\n"
        process.kill()
        # Its output ends with the last process that has it.
        assert process.communicate(timeout=20)[0] == ""
