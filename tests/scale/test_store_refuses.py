"""A store that cannot be written: refused in the one shape and at once, readable meanwhile, and well again by itself."""

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql

from tests.databases import ON_POSTGRESQL, own_database
from tests.server import ServerProcess

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


def save(server: ServerProcess, key: str, session: str, number: int) -> httpx.Response:
    ops = [{"op": "upsert", "id": f"m{number}", "role": "user", "text": f"said {number}"}]
    body = {"epoch": 1, "writer_id": "w", "seq": number, "ops": ops}
    began = time.monotonic()
    headers = {"Authorization": f"Bearer {key}"}
    answer = httpx.post(f"{server.url}/api/v1/sessions/{session}/changes", json=body, headers=headers, timeout=20)
    assert time.monotonic() - began <= ANSWERED_SECONDS
    return answer


def test_a_store_that_cannot_be_written_says_so_and_heals(tmp_path: Path) -> None:
    with own_database() as own, ServerProcess(tmp_path, own=own) as server:
        key = server.key("ana")
        api = server.api(key)
        _, session = api.session("/full")
        for number in range(1, TRIES):
            assert save(server, key, session, number).status_code == 200
        with read_only(own["DATABASE_URL"]) if ON_POSTGRESQL else disk_full(server):
            refusals = [save(server, key, session, TRIES + number) for number in range(TRIES)]
            shown = [reads_on(api, session) for _ in range(TRIES)]
        for refusal in refusals:
            assert refusal.status_code == (503 if ON_POSTGRESQL else 507), refusal.text
            assert refusal.json()["error"].keys() == {"code", "message", "details"}
        assert shown == [TRIES - 1] * TRIES
        for number in range(TRIES):
            save_in_the_end(server, key, session, TRIES + number)
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
    return len(api.call("GET", f"/sessions/{session}")["messages"])
