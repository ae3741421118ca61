"""Writes that are put together: one commit for all of them, and none of them suffers for another."""

import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, OperationalError, connection, connections, transaction

from config.sqlite.base import DatabaseWrapper
from config.together import SavesTogether
from sessions_app.auth import caller_of_user
from sessions_app.models import ChatSession, Project
from sessions_app.services import keys
from sessions_app.services.writing import group_commits, write, write_all
from tests.chat import Chat
from tests.databases import ON_POSTGRESQL
from tests.live_server import LiveServer

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


def kinds(outcomes: list[Any]) -> list[Any]:
    return [type(outcome).__name__ if isinstance(outcome, Exception) else outcome for outcome in outcomes]


def test_all_are_committed_together(make: Callable[[str], str]) -> None:
    told: list[str] = []

    def work(path: str) -> str:
        make(path)
        told.append(f"{path} done")
        transaction.on_commit(lambda: told.append(f"{path} kept"))
        return path

    assert write_all([lambda: work("/a"), lambda: work("/b")]) == ["/a", "/b"]
    assert told == ["/a done", "/b done", "/a kept", "/b kept"]
    assert paths() == ["/a", "/b"]


def test_what_one_could_not_do_takes_nothing_from_the_others(make: Callable[[str], str]) -> None:
    def fails() -> str:
        def half() -> str:
            make("/half")
            raise LookupError

        return write(half)

    outcomes = write_all([lambda: make("/a"), fails, lambda: make("/c")])
    assert kinds(outcomes) == ["/a", "LookupError", "/c"]
    assert paths() == ["/a", "/c"]


def test_one_that_breaks_what_they_share_is_alone_with_that(make: Callable[[str], str]) -> None:
    runs: list[str] = []

    def work(path: str) -> str:
        runs.append(path)
        return make(path)

    def breaks() -> str:
        runs.append("breaks")
        connection.close()
        raise DatabaseError

    outcomes = write_all([lambda: work("/a"), breaks, lambda: work("/c")])
    assert kinds(outcomes) == ["/a", "DatabaseError", "/c"]
    assert runs == ["/a", "breaks", "/a", "breaks", "/c"]
    assert paths() == ["/a", "/c"]


def test_a_transaction_that_the_database_took_back_unnoticed_loses_nobody_s_write(make: Callable[[str], str]) -> None:
    """As SQLite does after some errors, though only a read failed, and who read made an answer of it."""

    def refused() -> str:
        with suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("ROLLBACK")
            cursor.execute("SELECT nothing FROM nowhere")
        return "refused"

    assert write_all([lambda: make("/a"), refused, lambda: make("/c")]) == ["/a", "refused", "/c"]
    assert paths() == ["/a", "/c"]


@pytest.mark.timed
@pytest.mark.skipif(ON_POSTGRESQL, reason="there nobody waits for the whole database")
def test_a_database_that_another_process_holds_is_waited_for_once(make: Callable[[str], str]) -> None:
    works = [partial(make, f"/{number}") for number in range(20)]
    with connection.cursor() as cursor, closing(sqlite3.connect(connection.settings_dict["NAME"])) as other:
        cursor.execute("PRAGMA busy_timeout")
        [usual] = cursor.fetchone()
        cursor.execute("PRAGMA busy_timeout = 300")
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        outcomes = write_all(works)
        waited = time.monotonic() - began
        other.rollback()
        cursor.execute(f"PRAGMA busy_timeout = {usual}")
    assert kinds(outcomes) == ["StoreBusy"] * 20
    assert waited < 2
    assert paths() == []


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
    assert waited < 3
    assert paths() == []


def test_a_commit_that_fails_is_told_to_whose_fault_it_is(make: Callable[[str], str]) -> None:
    """Both databases look at references when they commit."""

    def dangling() -> str:
        write(lambda: ChatSession.objects.create(id=uuid.uuid4(), project_id=uuid.uuid4()))
        return "committed"

    outcomes = write_all([lambda: make("/a"), dangling, lambda: make("/c")])
    assert kinds(outcomes) == ["/a", "IntegrityError", "/c"]
    assert paths() == ["/a", "/c"]
    assert not ChatSession.objects.exists()


def test_the_thread_of_saves_goes_on_whatever_one_of_them_does(make: Callable[[str], str]) -> None:
    def cannot_end(ending: ExitStack) -> str:
        ending.callback(int, "no number")
        return make("/a")

    def fails(ending: ExitStack) -> str:
        raise LookupError

    saves, go = SavesTogether[str](), threading.Event()
    try:
        saves._thread.submit(go.wait, 10)
        works = (cannot_end, fails, lambda _: make("/b"), lambda _: make("/c"))
        # Too large to be in one group.
        futures = [saves.submit(work, 60_000) for work in works]
        go.set()
    finally:
        saves.close()
    assert [type(future.exception(10)) for future in futures[:2]] == [ValueError, LookupError]
    assert [future.result(10) for future in futures[2:]] == ["/b", "/c"]
    assert paths() == ["/a", "/b", "/c"]


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads that committed, as they do."""
    found: list[str] = []
    commit = DatabaseWrapper.commit

    def counted(self: DatabaseWrapper) -> None:
        found.append(threading.current_thread().name)
        commit(self)

    monkeypatch.setattr(DatabaseWrapper, "commit", counted)
    return found


@pytest.fixture
def arrived(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """One for every small save that the server has taken in."""
    count = threading.Semaphore(0)
    submit = SavesTogether.submit

    def counted(self: SavesTogether[Any], work: Any, size: int) -> Any:
        future = submit(self, work, size)
        count.release()
        return future

    monkeypatch.setattr(SavesTogether, "submit", counted)
    return count


@pytest.mark.skipif(ON_POSTGRESQL, reason="PostgreSQL has many writers.")
def test_saves_that_wait_together_share_commits_and_get_an_answer_each(
    server: LiveServer, api: Callable[..., Any], alice: User, commits: list[str], arrived: threading.Semaphore
) -> None:
    chats = [Chat(api(alice), project=f"/home/alice/{number}") for number in range(SAVES)]
    secret = keys.create_key(caller=caller_of_user(alice)).secret
    answers: dict[int, httpx.Response] = {}

    def send(number: int) -> None:
        """Every third is of an epoch that is over, every fifth no save at all."""
        op = {"op": "upsert", "id": "m1", "role": "user", "text": f"words {number}"}
        body: dict[str, Any] = {"epoch": 1 if number % 3 else 7, "writer_id": "w", "seq": 1, "ops": [op]}
        if number % 5 == 0:
            del body["seq"]
        address = f"{server.url}/api/v1/sessions/{chats[number].id}/changes"
        answers[number] = httpx.post(address, json=body, headers={"Authorization": f"Bearer {secret}"}, timeout=30)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(SAVES)]
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        go.wait(20)

    holder = threading.Thread(target=write, args=(hold,))
    holder.start()
    assert held.wait(10)
    for thread in threads:
        thread.start()
    for _ in threads:
        assert arrived.acquire(timeout=10)
    commits.clear()
    go.set()
    for thread in [holder, *threads]:
        thread.join()
    for number, answer in answers.items():
        expected = 422 if number % 5 == 0 else 200 if number % 3 else 409
        assert answer.status_code == expected, answer.text
        assert chats[number].texts() == ([f"words {number}"] if expected == 200 else [])
    assert 0 < len(commits) < SAVES / 3, commits
