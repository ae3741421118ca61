"""A store that cannot be written: refusals at once and in the API's format, reads still work, recovery without a restart."""

import os
import resource
import secrets
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from django.contrib.auth.models import User
from django.db.backends.signals import connection_created
from psycopg import sql

from tests.scale.failures.test_crash import assert_sound
from tests.scale.logged_writers import all_messages
from tests.support.chat import Chat
from tests.support.databases import ON_POSTGRESQL
from tests.support.live_server import LiveServer
from tests.support.server_process import ServerProcess, new_store
from tests.support.stores import Store

pytestmark = pytest.mark.scale
ANSWERED_SECONDS = 5
HEALED_SECONDS = 10
TRIES = 20


@contextmanager
def disk_full(server: ServerProcess) -> Iterator[None]:
    """The kernel lets no file of this process grow, its log included."""
    hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (4_096, hard))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (hard, hard))


@contextmanager
def read_only(url: str) -> Iterator[None]:
    """As after a failover: connections are cut once, the next ones can only read. The end cuts none."""
    name = url.rpartition("/")[2]
    with psycopg.connect(url.rpartition("/")[0] + "/postgres", autocommit=True) as connection:
        change = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(sql.Identifier(name))
        connection.execute(change)
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        try:
            yield
        finally:
            connection.execute(sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(sql.Identifier(name)))


def save(server: Any, key: str, session: str, number: int, *, text: str = "") -> httpx.Response:
    ops = [{"op": "upsert", "id": f"m{number}", "role": "user", "text": text or f"said {number}"}]
    body = {"epoch": 1, "writer_id": "w", "seq": number + 1, "ops": ops}
    began = time.monotonic()
    headers = {"Authorization": f"Bearer {key}"}
    answer = httpx.post(f"{server.url}/api/v1/sessions/{session}/changes", json=body, headers=headers, timeout=20)
    assert time.monotonic() - began <= ANSWERED_SECONDS
    return answer


def test_a_store_that_cannot_be_written_says_so_and_heals(store: Store) -> None:
    with ServerProcess(store) as server:
        key = server.key("ana")
        api = server.api(key)
        _, session = api.session("/full")
        for number in range(1, TRIES):
            assert save(server, key, session, number).status_code == 200
        with read_only(store.settings["DATABASE_URL"]) if ON_POSTGRESQL else disk_full(server):
            refusals = [save(server, key, session, TRIES + number) for number in range(TRIES)]
            shown = [reads_on(api, session) for _ in range(TRIES)]
            readiness = httpx.get(f"{server.url}/readyz")
        told = (503, "store_read_only") if ON_POSTGRESQL else (507, "storage_full")
        assert (readiness.status_code, readiness.json()["error"]["code"]) == told
        for refusal in refusals:
            assert refusal.status_code == told[0], refusal.text
            assert refusal.json()["error"].keys() == {"code", "message", "details"}
        assert shown == [TRIES - 1] * TRIES
        for number in range(TRIES):
            save_in_the_end(server, key, session, TRIES + number)
        assert httpx.get(f"{server.url}/readyz").status_code == 200
        assert len(api.call("GET", f"/sessions/{session}")["messages"]) == 2 * TRIES - 1
        api.close()


def save_in_the_end(server: ServerProcess, key: str, session: str, number: int) -> None:
    """As a client does: what is refused for now is sent again."""
    deadline = time.monotonic() + HEALED_SECONDS
    while (answer := save(server, key, session, number)).status_code != 200:
        assert answer.status_code == 503, answer.text
        assert time.monotonic() < deadline
        time.sleep(0.05)


def reads_on(api: Any, session: str) -> int:
    """Each thread whose connection was cut says so once."""
    deadline = time.monotonic() + HEALED_SECONDS
    while (answer := api.http.get(f"/sessions/{session}")).status_code != 200:
        assert ON_POSTGRESQL
        assert answer.status_code == 503, answer.text
        assert time.monotonic() < deadline
    return len(answer.json()["messages"])


class Opened:
    """Every connection from here on, those that are opened meanwhile too: a thread that was refused opens another one."""

    def __init__(self) -> None:
        self._connections: list[Any] = []
        self._switch = "OFF"

    def note(self, connection: Any, **_: Any) -> None:
        self._connections.append(connection.connection)
        connection.connection.execute(f"PRAGMA query_only={self._switch}")

    def only_reads(self, switch: str) -> None:
        self._switch = switch
        for connection in self._connections:
            with suppress(sqlite3.ProgrammingError):  # It was closed since.
                connection.execute(f"PRAGMA query_only={switch}")


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Named before `server`, whose threads open their connections as it starts."""
    found = Opened()
    connection_created.connect(found.note)
    yield found
    connection_created.disconnect(found.note)


@pytest.mark.skipif(ON_POSTGRESQL, reason="PostgreSQL's is tried with the server's own setting")
def test_an_embedded_store_that_can_only_be_read_says_so_and_heals(
    opened: Opened, server: LiveServer, api: Any, alice: User
) -> None:
    client = api(alice)
    secret = client.client.defaults["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
    session = Chat(client).id

    assert save(server, secret, session, 1).status_code == 200
    opened.only_reads("ON")
    refused = save(server, secret, session, 2)
    shown = httpx.get(f"{server.url}/api/v1/sessions/{session}", headers={"Authorization": f"Bearer {secret}"})
    opened.only_reads("OFF")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "store_read_only")
    assert int(refused.headers["Retry-After"]) >= 1
    assert [message["id"] for message in shown.json()["messages"]] == ["m1"]
    assert save(server, secret, session, 2).status_code == 200


@contextmanager
def small_disk() -> Iterator[Path]:
    """A file system of its own, for root alone to mount. What PostgreSQL is to enter lies open."""
    folder = Path(tempfile.mkdtemp(prefix="stillhere-disk-"))
    folder.chmod(0o755)
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", str(folder)]
    if os.geteuid() or shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("cannot mount a small disk here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


@contextmanager
def database_on(disk: Path) -> Iterator[dict[str, str]]:
    """A database whose tables lie there; on SQLite the data folder does."""
    if not ON_POSTGRESQL:
        yield {}
        return
    place = disk / "tables"
    place.mkdir()
    shutil.chown(place, "postgres")
    url = os.environ["STILLHERE_TEST_POSTGRES_URL"]
    name = f"stillhere_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        own = sql.Identifier(name)
        connection.execute(sql.SQL("CREATE TABLESPACE {} LOCATION {}").format(own, sql.Literal(str(place))))
        connection.execute(sql.SQL("CREATE DATABASE {} TABLESPACE {}").format(own, own))
        try:
            yield {"DATABASE_URL": f"{url.rpartition('/')[0]}/{name}"}
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(own))
            connection.execute(sql.SQL("DROP TABLESPACE {}").format(own))


@pytest.mark.prove
def test_a_disk_that_is_full_and_emptied_again_costs_nothing_that_was_acknowledged() -> None:
    with small_disk() as disk, database_on(disk) as own, ServerProcess(new_store(disk, own)) as server:
        key = server.key("ana")
        api = server.api(key)
        kept = []
        for number in range(5):
            _, session = api.session(f"/disk/{number}")
            kept += [(session, each) for each in range(30) if save_much(server, key, session, each).status_code == 200]
            ballast = fill_up(disk)
            answers = until_refused(server, key, session)
            kept += [(session, 30 + each) for each, answer in enumerate(answers) if answer.status_code == 200]
            assert reads_on(api, session) >= 30
            ballast.unlink()
            save_in_the_end(server, key, session, 1_000)
        for session in {session for session, _ in kept}:
            found = all_messages(api, session)
            assert {f"m{each}" for of, each in kept if of == session} <= found.keys()
        api.close()
        server.stop()
        if not ON_POSTGRESQL:
            assert_sound(disk / "stillhere.sqlite3")


def save_much(server: ServerProcess, key: str, session: str, number: int) -> httpx.Response:
    """What does not fit into room that is left here and there, and cannot be compressed."""
    return save(server, key, session, number, text=secrets.token_hex(20_000))


def until_refused(server: ServerProcess, key: str, session: str) -> list[httpx.Response]:
    """The answers, the last ten of them refusals: in what its files have already, a store takes some MB more."""
    answers: list[httpx.Response] = []
    while len(answers) < 400 and [answer.status_code for answer in answers[-10:]] != [507] * 10:
        answers.append(save_much(server, key, session, 30 + len(answers)))
        assert answers[-1].status_code in {200, 507}, answers[-1].text
    assert answers[-1].status_code == 507
    return answers


def fill_up(disk: Path) -> Path:
    ballast = disk / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(65_536))
    with suppress(OSError), ballast.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(1_024))
    return ballast
