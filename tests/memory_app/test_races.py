"""Many at once: no update lost, no quota exceeded, one writer."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from memory_app.models import MemoryEntry, MemoryStore
from tests.memory_app.conftest import Memory

WRITERS = 8


def at_once(act: Callable[[int], Any]) -> list[Any]:
    """`act(0)` … `act(7)` in threads that begin together."""
    results: list[Any] = [None] * WRITERS
    ready = threading.Barrier(WRITERS)

    def run(number: int) -> None:
        try:
            ready.wait()
            results[number] = act(number)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.fixture
def shared(transactional_db: None, api: Callable[..., Any], alice: User, path: str) -> Memory:
    return Memory(api(alice), path)


@pytest.mark.timeout(60)
def test_eight_writers_on_one_key_lose_no_update(shared: Memory) -> None:
    shared.put("notes/n", 0)

    def count_up(number: int) -> None:
        for _ in range(5):
            while True:
                got = shared.get("notes/n")
                if shared.put("notes/n", got.json()["value"] + 1, **{"If-Match": got["ETag"]}).status_code == 200:
                    break

    at_once(count_up)
    assert shared.get("notes/n").json()["value"] == WRITERS * 5


@pytest.mark.timeout(60)
def test_eight_writers_never_exceed_the_quota(shared: Memory, settings: Any) -> None:
    settings.PROJECT_BYTES = 10_000

    def fill(number: int) -> list[int]:
        return [shared.put(f"n/{number}-{item}", "x" * 998).status_code for item in range(4)]

    codes = [code for result in at_once(fill) for code in result]
    assert codes.count(201) == 10
    assert codes.count(507) == len(codes) - 10
    assert MemoryStore.objects.get().size_bytes == 10_000
    assert MemoryEntry.objects.count() == 10


@pytest.mark.timeout(60)
def test_of_eight_runs_that_start_at_once_one_writes(shared: Memory) -> None:
    started = at_once(lambda number: shared.start(str(number)))
    assert sorted(run["session_count"] for run in started) == list(range(1, WRITERS + 1))
    assert [run["mode"] for run in started].count("writer") == 1


@pytest.mark.timeout(60)
def test_of_eight_takeovers_the_last_fence_alone_writes(shared: Memory) -> None:
    runs = [shared.start() for _ in range(WRITERS)]
    taken = at_once(lambda number: shared.run(runs[number]["run_id"], "takeover").json())
    assert len({run["fence"] for run in taken}) == WRITERS
    codes = at_once(lambda number: shared.put("n/k", number, **{"Stillhere-Run": runs[number]["run_id"]}).status_code)
    assert sorted(codes) == [201] + [423] * (WRITERS - 1)
    newest = max(taken, key=lambda run: int(run["fence"]))
    assert codes[taken.index(newest)] == 201
