"""The real server as a process of its own, for tests of what only a server does: sockets, signals, several processes.

`with ServerProcess(store) as server:` serves this store on a free port of loopback until the block ends. `server.manage(…)`
runs a command beside it.
"""

import fcntl
import functools
import os
import random
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from config.server.startup import SOCKET_PROTOCOL
from tests.support.databases import ON_POSTGRESQL
from tests.support.stores import Store

ROOT = Path(__file__).resolve().parents[2]
# Each keeps a connection, of which a PostgreSQL may have 100 for all servers of all tests that run side by side.
_FEWER_THREADS = {"THREADS": "4"} if ON_POSTGRESQL and "PYTEST_XDIST_WORKER" in os.environ else {}
PORTS = range(20_000, 32_000)
# Of the system's own randomness: workers whose tests begin with the same seed would ask for the same ports.
_CHANCE = random.SystemRandom()
_kept: set[int] = set()
# Three workers on two cores may all start one at a time.
START_SECONDS = 90
STOP_SECONDS = 15
AT_ONCE = """
import sys, django
from django.core.management import call_command
django.setup()
print("ready", flush=True)
input()
call_command(*sys.argv[1:])
"""
# Who most tests are about, and somebody else.
ACCOUNTS = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
for name in ("ana", "ben"):
    call_command("create_user", name)
    print(name, end=" ", flush=True)
    call_command("create_key", user=name)
"""
UVICORN = [
    *("--ws", SOCKET_PROTOCOL, "--ws-max-size", "1048576"),
    *("--ws-per-message-deflate", "false", "--lifespan", "on", "--timeout-graceful-shutdown", "10"),
    *("--timeout-keep-alive", "75"),
    # As `serve` does: the log is ours alone.
    *("--no-access-log", "--log-config", "tests/support/uvicorn_log.json"),
]


def new_store(folder: Path, settings: dict[str, str]) -> Store:
    """In an empty folder and database: all tables, two accounts and a key of each."""
    said = ServerProcess(Store(folder, settings)).shell(ACCOUNTS)
    return Store(folder, settings, dict(re.findall(r"^(\w+) (sh_\w+)$", said, re.MULTILINE)))


def free_port(among: Sequence[int] = PORTS) -> int:
    """Kept for this process until it ends. Another test's server would else take it while ours starts, or is killed and started
    again, and answer in its place. It is none of the ports that the system gives to those who bind 0 or connect."""
    while True:
        port = _CHANCE.choice(among)
        if port not in _kept and _keep(port) and _is_free(port):
            return port


def _keep(port: int) -> bool:
    """False if another process has it. One file for all: its byte of this number is locked."""
    try:
        fcntl.lockf(_kept_file(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _kept.add(port)
    return True


@functools.cache
def _kept_file() -> int:
    """Never closed: the locks would go with it."""
    return os.open(Path(tempfile.gettempdir(), f"stillhere-test-ports-{os.getuid()}"), os.O_WRONLY | os.O_CREAT, 0o600)


def _is_free(port: int) -> bool:
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class ServerProcess:
    """One `uvicorn config.http.asgi:application`. `environment` holds further STILLHERE_ variables, without the prefix.
    `self.environment`: all variables of the server and of its commands."""

    def __init__(self, store: Store, **environment: str) -> None:
        self.port = free_port()
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"
        self._store = store
        self._process: subprocess.Popen[bytes] | None = None
        ours = {**_FEWER_THREADS, "DATA_DIR": str(store.folder), "PORT": str(self.port), **store.settings, **environment}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("STILLHERE_")}
        self.environment = {**inherited, **{f"STILLHERE_{name}": value for name, value in ours.items()}}

    def manage(self, *arguments: str) -> str:
        """What `manage.py` prints."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"manage.py {' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
        return done.stdout.strip()

    def shell(self, code: str) -> str:
        """What this prints, inside the product."""
        return self.manage("shell", "--no-imports", "-c", code)

    @contextmanager
    def begin(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """The same, as a process whose output can be read while it works; killed at the end."""
        command = [sys.executable, "manage.py", *arguments]
        with subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def at_once(self, *arguments: str) -> Iterator[Callable[[], str]]:
        """The same without the seconds that a process takes to start: what is yielded runs the command."""
        environment = {**self.environment, "DJANGO_SETTINGS_MODULE": "config.settings"}
        process = subprocess.Popen(
            [sys.executable, "-c", AT_ONCE, *arguments],
            cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

        def run() -> str:
            said, _ = process.communicate("go\n")
            assert process.returncode == 0
            return said.strip()

        yield run

    def key(self, username: str) -> str:
        """An API key of a user that the store was made with."""
        return self._store.keys[username]

    def api(self, key: str) -> "Api":
        return Api(self.url, key)

    def start(self, **changed: str) -> None:
        """`changed`: STILLHERE_ variables that are other ones from now on."""
        self.environment |= {f"STILLHERE_{name}": value for name, value in changed.items()}
        command = [sys.executable, "-m", "uvicorn", "config.http.asgi:application", "--port", str(self.port), *UVICORN]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise AssertionError(f"The server does not serve:\n{self.log()}")
            time.sleep(0.05)

    def kill(self) -> None:
        """As a crash or the kernel would: nothing is written, nobody is told."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def signal(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def wait(self, seconds: float) -> int:
        """The exit code of a server that was told to end."""
        process, self._process = self._process, None
        return 0 if process is None else process.wait(seconds)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def log(self) -> str:
        """Its end."""
        return self.whole_log()[-5000:]

    def whole_log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        if error is not None:
            error.add_note(self.log())

    @property
    def _log(self) -> Path:
        return self._store.folder / f"server-{self.port}.log"

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz", timeout=5).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False


class Api:
    """The JSON API with a key: what tests of a real server call again and again."""

    def __init__(self, url: str, key: str) -> None:
        self.http = httpx.Client(base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {key}"}, timeout=60)
        # A test that fails leaves it open. Its sockets would then be reported in whichever test runs when they are collected.
        weakref.finalize(self, self.http.close)

    def call(self, method: str, path: str, body: Any = None, **parameters: Any) -> Any:
        answer = self.http.request(method, path, json=body, params=parameters)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def session(self, path: str) -> tuple[str, str]:
        """A project of this path and a session in it: their ids."""
        project = self.call("POST", "/projects", {"path": path})["id"]
        made = self.call("POST", f"/projects/{project}/sessions", {})
        return project, made.get("session", made)["id"]

    def save(self, session: str, message: str, *, text: str = "said", writer: str = "", seq: int = 1) -> Any:
        op = {"op": "upsert", "id": message, "role": "user", "text": text}
        body = {"epoch": 1, "writer_id": writer or secrets.token_hex(8), "seq": seq, "ops": [op]}
        return self.call("POST", f"/sessions/{session}/changes", body)

    def close(self) -> None:
        self.http.close()
