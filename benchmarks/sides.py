"""The sides of a comparison, behind one face: make sessions, fill them, and the bytes of a save and of a resume."""

import atexit
import json
import shutil
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from benchmarks import servers
from benchmarks.http_client import Wire, request_bytes
from benchmarks.prose import texts

TEXTS = texts()
AT_ONCE = 200


class Side(Protocol):
    """A server, prepared."""

    name: str
    port: int

    def new_sessions(self, count: int, *, messages: int = 0) -> list[str]:
        """Sessions to measure with, each holding so many messages."""

    def save(self, session: str) -> bytes:
        """The request that saves one more message."""

    def resume(self, session: str) -> bytes:
        """The request that loads the newest 200."""


class _Serving:
    """Starts and stops the side's server."""

    def __init__(self, server: servers.Server) -> None:
        self.server, self.port = server, server.port

    def __enter__(self) -> Self:
        self.server.__enter__()
        try:
            self.prepare()
        except BaseException as error:
            self.server.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.server.__exit__(kind, error, trace)

    def prepare(self) -> None:
        self.server.start()


class Calls:
    """The product's requests, as its clients send them."""

    def __init__(self, key: str) -> None:
        self.headers = {"Authorization": f"Bearer {key}"}
        self._projects: dict[str, str] = {}
        self._saved: dict[str, int] = {}
        self._writer = str(uuid.uuid4())

    def create(self, session: str) -> bytes:
        """Each in a project of its own, so that each can be resumed."""
        self.adopt(session, f"/bench/{session}")
        headers = {**self.headers, "If-None-Match": "*"}
        return request_bytes("PUT", f"/api/v1/sessions/{session}", headers, _json({"project": self._projects[session]}))

    def adopt(self, session: str, project: str) -> None:
        """Go on with a session that is there already."""
        self._projects[session], self._saved[session] = project, 0

    def save(self, session: str, count: int = 1) -> bytes:
        """Counted, and saying what this writer has seen."""
        rev = self._saved[session]
        self._saved[session] += 1
        ids = [f"{self._writer[:8]}-{rev}-{number}" for number in range(count)]
        ops = [{"op": "upsert", "id": message_id, **_message(rev + number)} for number, message_id in enumerate(ids)]
        change = {"epoch": 1, "writer_id": self._writer, "seq": rev + 1, "base_rev": rev, "ops": ops}
        return request_bytes("POST", f"/api/v1/sessions/{session}/changes", self.headers, _json(change))

    def resume(self, session: str) -> bytes:
        return self.get(f"/resume?project={self._projects[session]}")

    def get(self, path: str) -> bytes:
        return request_bytes("GET", f"/api/v1{path}", self.headers)


# What is kept serves until this is closed; an error that passes through it carries the servers' logs.
serving = ExitStack()


def kept[S: _Serving](side: S) -> S:
    """Serves until the bench ends."""
    serving.enter_context(side)
    return side


@cache
def shared[S: _Serving](kind: Callable[[], S]) -> S:
    """One of a kind for all who measure sessions of their own: to start one takes seconds."""
    return kept(kind())


@dataclass(frozen=True, slots=True)
class Filled:
    """A store that servers start with a copy of: the key of its user, and what the program said that filled it."""

    folder: Path
    key: str
    said: str


@cache
def filled(*program: str) -> Filled:
    """Made once, by this program for the user `bench` (without one: a store with nothing in it)."""
    maker = servers.stillhere()
    atexit.register(shutil.rmtree, maker.folder, ignore_errors=True)
    if program:
        empty = filled()
        shutil.copytree(empty.folder, maker.folder, dirs_exist_ok=True)
        return Filled(maker.folder, empty.key, maker.run(*program))
    maker.run("manage.py", "migrate", "--verbosity", "0")
    maker.run("manage.py", "create_user", "bench")
    return Filled(maker.folder, maker.run("manage.py", "create_key", "--user", "bench"), "")


class Stillhere(_Serving):
    name = "Stillhere"

    def __init__(self, store: Filled | None = None, **settings: str) -> None:
        super().__init__(servers.stillhere(**settings))
        self._store = store or filled()
        self.calls = Calls(self._store.key)

    def prepare(self) -> None:
        shutil.copytree(self._store.folder, self.server.folder, dirs_exist_ok=True)
        self.server.start()

    def new_sessions(self, count: int, *, messages: int = 0) -> list[str]:
        wire = Wire(self.port)
        made = fill(self.calls, wire.send, count, messages)
        wire.close()
        return made

    def save(self, session: str) -> bytes:
        return self.calls.save(session)

    def resume(self, session: str) -> bytes:
        return self.calls.resume(session)


def fill(calls: Calls, send: Callable[[bytes], object], count: int, messages: int) -> list[str]:
    """New sessions with so many messages each."""
    made = [str(uuid.uuid4()) for _ in range(count)]
    for session in made:
        send(calls.create(session))
        for start in range(0, messages, AT_ONCE):
            send(calls.save(session, min(AT_ONCE, messages - start)))
    return made


class Yardstick(_Serving):
    """A and B answer at the same addresses."""

    def __init__(self, name: str, server: servers.Server) -> None:
        super().__init__(server)
        self.name = name
        self._saved = 0

    def new_sessions(self, count: int, *, messages: int = 0) -> list[str]:
        wire, made = Wire(self.port), [str(uuid.uuid4()) for _ in range(count)]
        for session in made:
            for _ in range(messages):
                wire.send(self.save(session))
        wire.close()
        return made

    def save(self, session: str) -> bytes:
        self._saved += 1
        body = {"message_id": f"m{self._saved}", **_message(self._saved)}
        return request_bytes("POST", f"/sessions/{session}/messages", {}, _json(body))

    def resume(self, session: str) -> bytes:
        return request_bytes("GET", f"/sessions/{session}/messages", {})


class Stock(Yardstick):
    def __init__(self) -> None:
        super().__init__("A", servers.stock())

    def prepare(self) -> None:
        self.server.run("-m", "django", "migrate", "--run-syncdb", "--skip-checks", "--verbosity", "0")
        super().prepare()


class Lean(Yardstick):
    def __init__(self) -> None:
        super().__init__("B", servers.lean())


def _message(number: int) -> dict[str, str]:
    return {"role": "assistant" if number % 2 else "user", "text": TEXTS[number % len(TEXTS)]}


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
