"""The measured servers: each a separate process on a free port, with a temporary folder that is removed with it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.support.http_client import Wire, WrongAnswer, request_bytes

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60
STOP_SECONDS = 15
LOOK_SECONDS = 0.01


class Server:
    """`with Server(...) as server:` serves until the block ends."""

    def __init__(self, command: list[str], environment: dict[str, str], *, probe: str, program: str = sys.executable) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="stillhere-bench-"))
        self.port = _free_port()
        self.environment = {**_inherited(), **environment}
        self._command, self._probe = [program, *command], probe
        self._process: subprocess.Popen[bytes] | None = None

    def fill(self, text: str) -> str:
        return text.replace("{port}", str(self.port)).replace("{folder}", str(self.folder))

    def run(self, *arguments: str) -> str:
        """A command of the same program, before or while it serves; its standard output."""
        done = subprocess.run(  # noqa: S603 - our own commands
            [sys.executable, *arguments], cwd=ROOT, env=self._filled(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise WrongAnswer(f"{' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
        return done.stdout.strip()

    @property
    def pid(self) -> int:
        assert self._process is not None  # noqa: S101
        return self._process.pid

    def start(self) -> None:
        log = (self.folder / "server.log").open("wb")
        command = [self.fill(part) for part in self._command]
        self._process = subprocess.Popen(command, cwd=ROOT, env=self._filled(), stdout=log, stderr=log)  # noqa: S603
        log.close()
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise WrongAnswer(f"{' '.join(command)} does not serve:\n{self._log()}")
            time.sleep(LOOK_SECONDS)

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        if error is not None:
            error.add_note(self._log())
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            wire = Wire(self.port)
        except OSError:
            return False
        wire.send(request_bytes("GET", self._probe, {}))
        wire.close()
        return True

    def _filled(self) -> dict[str, str]:
        return {name: self.fill(value) for name, value in self.environment.items()}

    def _log(self) -> str:
        log = self.folder / "server.log"
        return log.read_text(errors="replace")[-3000:] if log.exists() else ""


def stillhere(**settings: str) -> Server:
    """The product, as `manage.py serve` serves it. `settings` without their prefix: WINDOW_MESSAGES="20"."""
    return Server(["manage.py", "serve", "--no-migrate"], _product({"STATIC_MANIFEST": "0", **settings}), probe="/healthz")


def made() -> Server:
    """The product by `make serve`."""
    return Server(["--silent", "serve"], _product({}), probe="/healthz", program="make")


def _product(settings: dict[str, str]) -> dict[str, str]:
    # One key sends the requests of many, and holds as many sockets.
    unlimited = {"RATE_REQUESTS": "0", "RATE_WRITE_BYTES": "0", "ACCOUNT_SOCKETS": "0"}
    named = {"DATA_DIR": "{folder}/data", "PORT": "{port}", **unlimited, **settings}
    return {f"STILLHERE_{name}": value for name, value in named.items()}


def stock(database: str = "{folder}/yardstick.sqlite3") -> Server:
    """Yardstick A, on SQLite or, by a URL, on PostgreSQL."""
    settings = {"DJANGO_SETTINGS_MODULE": "benchmarks.yardsticks.stock.settings", "BENCH_DATABASE": database}
    return _yardstick("benchmarks.yardsticks.stock.asgi:application", settings)


def lean() -> Server:
    """Yardstick B."""
    return _yardstick("benchmarks.yardsticks.lean.asgi:application", {})


def _yardstick(application: str, settings: dict[str, str]) -> Server:
    command = ["-m", "uvicorn", application, "--port", "{port}", "--no-access-log", "--log-level", "warning"]
    environment = {"BENCH_DATABASE": "{folder}/yardstick.sqlite3", **settings}
    return Server(command, environment, probe="/sessions/none/messages")


def _inherited() -> dict[str, str]:
    """The environment without settings of a local Stillhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("STILLHERE_", "DJANGO_", "BENCH_DATABASE"))}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
