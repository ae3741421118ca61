"""A Redis of the test's own, which can be stopped, killed and started again."""

import shutil
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from redis import Redis, RedisError

from tests.support.server_process import free_port

AVAILABLE = shutil.which("redis-server") is not None


class RedisServer:
    def __init__(self, folder: Path) -> None:
        self.port, self._folder = free_port(), folder
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen([*command, "--dir", str(self._folder)], stdout=subprocess.DEVNULL)
        for _ in range(100):
            try:
                with Redis.from_url(self.url) as client:
                    client.ping()
                return
            except RedisError:
                time.sleep(0.05)
        raise AssertionError("Redis does not start.")

    def signal(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


class Proxy:
    """In front of a Redis, on a port of its own. Told to swallow, it takes every byte, and answers nothing."""

    def __init__(self, to_port: int) -> None:
        self._to_port, self._swallows, self._ends = to_port, threading.Event(), threading.Event()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._door.getsockname()[1]}/0"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._let_in, daemon=True).start()

    def swallow(self) -> None:
        self._swallows.set()

    def pass_on(self) -> None:
        """What was swallowed is lost, so those connections end."""
        self._swallows.clear()
        self._cut()

    def close(self) -> None:
        self._ends.set()
        # Wakes the thread that waits for connections.
        socket.create_connection(self._door.getsockname()).close()
        self._door.close()
        self._cut()

    def _let_in(self) -> None:
        while not self._ends.is_set():
            with suppress(OSError):
                client, _ = self._door.accept()
                self._open.append(client)
                try:
                    redis = socket.create_connection(("127.0.0.1", self._to_port))
                except OSError:
                    client.close()
                    continue
                self._open.append(redis)
                for one, other in ((client, redis), (redis, client)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                if not self._swallows.is_set():
                    other.sendall(data)
        other.close()

    def _cut(self) -> None:
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open = []
