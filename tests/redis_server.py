"""A Redis of the test's own, which can be stopped, killed and started again."""

import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from redis import Redis, RedisError

from tests.server import free_port

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
