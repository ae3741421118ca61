"""Several processes at one port, each with a listening socket of its own.

With one socket for all, whichever process wakes first takes all connections that wait: of 32 clients that come together, 23 to
32 were seen at one of two workers. With a socket each, the kernel spreads them (`SO_REUSEPORT`), and those of a worker
that died go to the others.
"""

import multiprocessing
import os
import signal
import socket
import sys
import threading
from typing import Any, cast

import uvicorn
from uvicorn.supervisors import Multiprocess

SPREADS = sys.platform == "linux"


class Place:
    """An address; what is pickled for a worker arrives there as a socket bound to it."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    def __reduce__(self) -> tuple[Any, ...]:
        return bound_socket, (self._host, self._port)


def family_of(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def bound_socket(host: str, port: int) -> socket.socket:
    made = socket.socket(family_of(host))
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind((host, port))
    return made


def serve_by_workers(config: uvicorn.Config) -> None:
    """Until SIGTERM or SIGINT. This process keeps the port, but listens to nobody."""
    with bound_socket(config.host, config.port):
        place = cast(socket.socket, Place(config.host, config.port))
        Multiprocess(config, sockets=[place]).run()


def end_with_supervisor() -> None:
    """Called in a worker: when the process above it was killed, nobody could end the workers, and they would hold the port."""
    above = multiprocessing.parent_process()
    if above is None:  # One process alone.
        return

    def wait() -> None:
        above.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="supervisor", daemon=True).start()
