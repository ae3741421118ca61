"""The sides of a comparison, behind one interface: create sessions, fill them, and the bytes of a save and of a resume."""

import atexit
import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from benchmarks.seeding.chat_texts import texts
from benchmarks.support import postgresql, servers
from benchmarks.support.http_client import Wire, request_bytes

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
        self.key = key
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
        """Continues an existing session."""
        self._projects[session], self._saved[session] = project, 0

    def project_of(self, session: str) -> str:
        return self._projects[session]

    def save(self, session: str, count: int = 1) -> bytes:
        """Numbered by `seq`, with this writer's `base_rev`."""
        rev = self._saved[session]
        self._saved[session] += 1
        ids = [f"{self._writer[:8]}-{rev}-{number}" for number in range(count)]
        ops = [{"op": "upsert", "id": message_id, **_message(rev + number)} for number, message_id in enumerate(ids)]
        change = {"epoch": 1, "writer_id": self._writer, "seq": rev + 1, "base_rev": rev, "ops": ops}
        return request_bytes("POST", f"/api/v1/sessions/{session}/changes", self.headers, _json(change))

    def resume(self, session: str) -> bytes:
        return self.get(f"/resume?project={self._projects[session]}")

    def move_head(self, session: str, message_id: str) -> bytes:
        return request_bytes("PATCH", f"/api/v1/sessions/{session}", self.headers, _json({"head": message_id}))

    def get(self, path: str) -> bytes:
        return request_bytes("GET", f"/api/v1{path}", self.headers)


# The servers run until this is closed; an error that passes through it gets the servers' logs.
serving = ExitStack()


def kept[S: _Serving](side: S) -> S:
    """Serves until the bench ends."""
    serving.enter_context(side)
    return side


@cache
def shared[S: _Serving](kind: Callable[[], S]) -> S:
    """Shared by all measurements with sessions of their own: starting one takes seconds."""
    return kept(kind())


@dataclass(frozen=True, slots=True)
class Filled:
    """A store that servers start with a copy of: its user's key and cookie, and the output of the seeding program."""

    folder: Path
    key: str
    cookie: str
    said: str


@cache
def filled(*program: str) -> Filled:
    """Created once, by this program for the user `bench` (without a program: an empty store)."""
    maker = servers.stillhere()
    atexit.register(shutil.rmtree, maker.folder, ignore_errors=True)
    if program:
        empty = filled()
        shutil.copytree(empty.folder, maker.folder, dirs_exist_ok=True)
        made = replace(empty, folder=maker.folder, said=maker.run(*program))
        maker.run("-m", "benchmarks.seeding.index")
        return made
    key, cookie = maker.run("-c", SET_UP).splitlines()
    return Filled(maker.folder, key, cookie, "")


# One process for all: each takes seconds to start. Prints a key and a cookie.
SET_UP = """
import os, sys, django
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
call_command("migrate", verbosity=0)
call_command("create_user", "bench", stdout=sys.stderr)
call_command("create_key", user="bench")
client = Client()
client.force_login(User.objects.get(username="bench"))
print(f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}")
"""
COLLECT = """
import os, django
os.environ |= {"STILLHERE_STATIC_MANIFEST": "1", "DJANGO_SETTINGS_MODULE": "config.settings"}
django.setup()
from config.server import startup
with startup.prepared(migrate=False):
    pass
"""


def collected() -> Filled:
    """An empty store, beside the static files as production serves them."""
    return filled("-c", COLLECT)


@contextmanager
def copied(store: Filled) -> Iterator[servers.Server]:
    """A copy for programs that run without a server."""
    with servers.stillhere() as unserved:
        shutil.copytree(store.folder, unserved.folder, dirs_exist_ok=True)
        yield unserved


class _Product(_Serving):
    """The common part of all servers of the product."""

    calls: Calls

    def new_sessions(self, count: int, *, messages: int = 0) -> list[str]:
        wire = Wire(self.port)
        made = fill(self.calls, wire.send, count, messages)
        wire.close()
        return made

    def save(self, session: str) -> bytes:
        return self.calls.save(session)

    def resume(self, session: str) -> bytes:
        return self.calls.resume(session)


class Stillhere(_Product):
    name = "Stillhere"

    def __init__(self, store: Filled | None = None, **settings: str) -> None:
        super().__init__(servers.stillhere(**settings))
        self._store = store or filled()
        self.cookie = self._store.cookie
        self.calls = Calls(self._store.key)

    def prepare(self) -> None:
        shutil.copytree(self._store.folder, self.server.folder, dirs_exist_ok=True)
        self.server.start()


class StillhereOnPostgresql(_Product):
    """With Redis, and an empty database of its own."""

    def __init__(self, *, workers: int) -> None:
        services = {"DATABASE_URL": postgresql.new_database(), "REDIS_URL": postgresql.REDIS_URL}
        super().__init__(servers.stillhere(WORKERS=str(workers), **services))
        self.name = "1 worker" if workers == 1 else f"{workers} workers"

    def prepare(self) -> None:
        key, _ = self.server.run("-c", SET_UP).splitlines()
        self.calls = Calls(key)
        self.server.start()


def fill(calls: Calls, send: Callable[[bytes], object], count: int, messages: int) -> list[str]:
    """New sessions with so many messages each."""
    made = [str(uuid.uuid4()) for _ in range(count)]
    for session in made:
        send(calls.create(session))
        for start in range(0, messages, AT_ONCE):
            send(calls.save(session, min(AT_ONCE, messages - start)))
    return made


class Yardstick(_Serving):
    """A and B have the same addresses."""

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


class PooledStock(Yardstick):
    """A on PostgreSQL."""

    def __init__(self) -> None:
        super().__init__("A", servers.stock(postgresql.new_database()))

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
