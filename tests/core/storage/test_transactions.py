"""Writes that are put together: one commit for all of them, and none of them suffers for another."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, connections

from config.http.quick.saves import QuickSaves, SaveRequest
from config.http.save_batching import LATER, Later, SaveBatcher
from config.server.background import TASKS
from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.core.storage.transactions import group_commits, write
from sessions_app.models import Project
from tests.support.chat import Chat
from tests.support.databases import ON_POSTGRESQL
from tests.support.live_server import LiveServer
from tests.support.machine_speed import allowed

SAVES = 24


@pytest.fixture
def make(transactional_db: None, alice: User) -> Callable[[str], str]:
    """Makes a project of alice's, as a service does; answers its path."""

    def work(path: str) -> str:
        write(lambda: Project.objects.create(owner=alice, path=path))
        return path

    return work


def paths() -> list[str]:
    return sorted(Project.objects.values_list("path", flat=True))


@pytest.fixture
def grouped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in the server; and connections that are opened from now on do not wait long for another process."""
    monkeypatch.setitem(connections.settings["default"]["OPTIONS"], "timeout", 0.3)
    group_commits()
    yield
    group_commits(together=False)


@pytest.mark.timed
@pytest.mark.skipif(ON_POSTGRESQL, reason="there nobody waits for the whole database")
def test_nor_do_requests_in_threads_of_their_own_wait_one_after_the_other(make: Callable[[str], str], grouped: None) -> None:
    told: list[str] = []

    def request(path: str) -> None:
        try:
            make(path)
        except OperationalError as error:
            told.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=request, args=(f"/{number}",)) for number in range(20)]
    with closing(sqlite3.connect(connection.settings_dict["NAME"])) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        waited = time.monotonic() - began
        other.rollback()
    assert told == ["database is locked"] * 20
    assert waited < allowed(3)
    assert paths() == []


def test_the_thread_of_saves_goes_on_whatever_one_group_does() -> None:
    go = threading.Event()

    def run(works: Sequence[str]) -> list[str | Later]:
        if "fails" in works:
            raise LookupError
        return [LATER if work == "held" else work.upper() for work in works]

    async def outcomes() -> list[Any]:
        saves = SaveBatcher[str, str](run)
        try:
            saves.thread.submit(go.wait, 10)
            # Too large to be in one group.
            futures = [saves.submit(work, 60_000) for work in ("a", "fails", "held", "b")]
            go.set()
        finally:
            await asyncio.to_thread(saves.close)
        return await asyncio.gather(*futures, return_exceptions=True)

    first, failed, held, last = asyncio.run(outcomes())
    assert (first, held, last) == ("A", LATER, "B")
    assert isinstance(failed, LookupError)


@pytest.fixture
def arrived(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """One for every small save that the server has taken in."""
    count = threading.Semaphore(0)
    submit = SaveBatcher.submit

    def counted(self: SaveBatcher[Any, Any], work: Any, size: int) -> Any:
        future = submit(self, work, size)
        count.release()
        return future

    monkeypatch.setattr(SaveBatcher, "submit", counted)
    return count


def request_body(number: int, seq: int) -> dict[str, Any]:
    """Every third is of an epoch that is over, every fifth is not a save at all."""
    op = {"op": "upsert", "id": f"m{seq}", "role": "user", "text": f"words {number}"}
    body: dict[str, Any] = {"epoch": 1 if number % 3 else 7, "writer_id": "w", "seq": seq, "ops": [op]}
    return {name: value for name, value in body.items() if number % 5 or name != "seq"}


def expected_status(number: int) -> int:
    return 422 if number % 5 == 0 else 200 if number % 3 else 409


@contextmanager
def saves_held(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Saves wait until the block ends."""
    go, run = threading.Event(), QuickSaves.run

    def held(self: QuickSaves, requests: Sequence[SaveRequest]) -> Any:
        go.wait(20)
        return run(self, requests)

    monkeypatch.setattr(QuickSaves, "run", held)
    try:
        yield
    finally:
        go.set()


def test_saves_that_wait_together_share_a_commit_and_get_an_answer_each(
    server: LiveServer,
    api: Callable[..., Any],
    alice: User,
    commits: list[str],
    arrived: threading.Semaphore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chats = [Chat(api(alice), project=f"/home/alice/{number}") for number in range(SAVES)]
    headers = {"Authorization": f"Bearer {api_keys.create_key(caller=caller_of_user(alice)).secret}"}

    def send(number: int, seq: int = 2) -> httpx.Response:
        address = f"{server.url}/api/v1/sessions/{chats[number].id}/changes"
        return httpx.post(address, json=request_body(number, seq), headers=headers, timeout=30)

    send(1, seq=1)
    assert arrived.acquire(timeout=10)
    with ThreadPoolExecutor(SAVES) as pool:
        with saves_held(monkeypatch):
            sent = [pool.submit(send, number) for number in range(SAVES)]
            for _ in sent:
                assert arrived.acquire(timeout=10)
            commits.clear()
        answers = [answer.result() for answer in sent]
    for number, answer in enumerate(answers):
        assert answer.status_code == expected_status(number), answer.text
        texts = [f"words {number}"] * (2 if number == 1 else 1) if answer.status_code == 200 else []
        assert chats[number].texts() == texts
    of_saves = [thread for thread in commits if thread not in {task.name for task in TASKS}]
    assert 0 < len(of_saves) < SAVES / 3, commits
