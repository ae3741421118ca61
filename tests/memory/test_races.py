"""Concurrent writers: no update lost, no quota exceeded, one writer."""

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection

from memory_app.errors.noise import filtering
from memory_app.models import ErrorReport, FilteredCount, MemoryEntry, MemoryStore
from tests.memory.conftest import Memory

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


def test_eight_writers_never_exceed_the_quota(shared: Memory, settings: Any) -> None:
    settings.PROJECT_BYTES = 10_000

    def fill(number: int) -> list[int]:
        return [shared.put(f"n/{number}-{item}", "x" * 998).status_code for item in range(4)]

    codes = [code for result in at_once(fill) for code in result]
    assert codes.count(201) == 10
    assert codes.count(507) == len(codes) - 10
    assert MemoryStore.objects.get().size_bytes == 10_000
    assert MemoryEntry.objects.count() == 10


def test_of_eight_runs_that_start_at_once_one_writes(shared: Memory) -> None:
    started = at_once(lambda number: shared.start(str(number)))
    assert sorted(run["session_count"] for run in started) == list(range(1, WRITERS + 1))
    assert [run["mode"] for run in started].count("writer") == 1


def test_of_eight_takeovers_the_last_fence_alone_writes(shared: Memory) -> None:
    runs = [shared.start() for _ in range(WRITERS)]
    taken = at_once(lambda number: shared.run(runs[number]["run_id"], "takeover").json())
    assert len({run["fence"] for run in taken}) == WRITERS
    codes = at_once(lambda number: shared.put("n/k", number, **{"Stillhere-Run": runs[number]["run_id"]}).status_code)
    assert sorted(codes) == [201] + [423] * (WRITERS - 1)
    newest = max(taken, key=lambda run: int(run["fence"]))
    assert codes[taken.index(newest)] == 201


def test_eight_writers_of_one_error_lose_no_count(shared: Memory) -> None:
    error = {"message": "user 7 not found", "kind": "KeyError"}

    def report(number: int) -> list[dict[str, int]]:
        return [shared.api.post(shared.address("errors"), {"errors": [error] * 3}).json() for _ in range(4)]

    answers = [answer for result in at_once(report) for answer in result]
    assert sum(answer["new"] for answer in answers) == 1
    assert ErrorReport.objects.get().count == WRITERS * 4 * 3


def test_eight_writers_of_new_errors_keep_five_hundred(shared: Memory) -> None:
    def report(number: int) -> int:
        errors = [{"message": f"writer {'x' * number} error {'y' * item}"} for item in range(100)]
        return int(shared.api.post(shared.address("errors"), {"errors": errors}).json()["new"])

    assert at_once(report) == [100] * WRITERS
    assert ErrorReport.objects.count() == 500


def test_eight_writers_of_noise_lose_no_count(shared: Memory) -> None:
    rule = {"id": "r", "pattern": "noise", "kind": "substring", "source": "auto", "enabled": True}
    shared.put("noise/config", {"rules": [rule]})

    def report(number: int) -> None:
        for _ in range(4):
            shared.api.post(shared.address("errors"), {"errors": [{"message": f"noise {number}"}] * 5})
            filtering.flush_filtered()

    at_once(report)
    filtering.flush_filtered()
    assert FilteredCount.objects.get().count == WRITERS * 4 * 5


def test_a_holder_that_was_stopped_writes_nothing_after_the_takeover(shared: Memory) -> None:
    """Seven threads of the old holder write on while the other run takes over: in the log, nothing of theirs comes after."""
    stopped, other = shared.start("stopped"), shared.start("other")
    headers = {"Stillhere-Run": stopped["run_id"]}
    last = {"entries": [{"namespace": "late", "key": "end", "value": 1}], "errors": [{"message": "late"}]}

    def act(number: int) -> list[int]:
        if number == 0:
            assert shared.run(other["run_id"], "takeover").status_code == 200
            return []
        codes = []
        for item in range(6):
            codes.append(shared.put(f"late/{number}", item, **headers).status_code)
            codes.append(shared.api.post(shared.address("errors"), {"errors": [{"message": "late"}]}, **headers).status_code)
        return codes

    codes = [code for result in at_once(act) for code in result]
    assert set(codes) <= {200, 201, 423}
    assert shared.run(stopped["run_id"], "end", last).status_code == 423
    told = shared.api.get(shared.address("events?since=0&limit=500")).json()["items"]
    taken = next(event["event_seq"] for event in told if event["type"] == "LEASE_CHANGED" and event["data"]["fence"] == 2)
    writes = [event["event_seq"] for event in told if event["type"] in {"MEMORY_CHANGED", "ERROR_RECORDED"}]
    assert len(writes) == len([code for code in codes if code != 423])
    assert all(seq < taken for seq in writes)
    assert ErrorReport.objects.count() <= 1
