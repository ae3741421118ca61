"""Seed 002's scenarios by number, as far as they are about runs, noise and errors, on a store in this process."""

import threading
from datetime import datetime, timedelta
from typing import Any

from memory_app.models import ErrorReport
from sessions_app.chats.lifecycle.pruning import prune
from sessions_app.core.public_names import now
from tests.memory.conftest import Memory
from tests.memory.errors.test_errors import ago, errors_of, record
from tests.memory.test_races import at_once

RULE = {"id": "r", "pattern": "ResizeObserver loop", "kind": "substring", "source": "auto", "enabled": True}


def context_of(memory: Memory) -> dict[str, Any]:
    return dict(memory.api.get(memory.address("context")).json())


def test_scenario_09_an_end_and_a_new_start_count_the_session_and_tell_its_time(memory: Memory) -> None:
    first = memory.start()
    memory.run(first["run_id"], "end")
    before = memory.api.get(f"/projects/{memory.project}").json()
    second = memory.start()
    after = memory.api.get(f"/projects/{memory.project}").json()
    assert (first["session_count"], second["session_count"]) == (1, 2)
    assert (before["session_count"], after["session_count"]) == (1, 2)
    assert datetime.fromisoformat(after["last_session_at"]) >= datetime.fromisoformat(before["last_session_at"])


def test_scenario_11_errors_and_rules_that_are_there_are_summarised(memory: Memory) -> None:
    memory.put("noise/config", {"rules": [RULE, {**RULE, "id": "m", "source": "manual"}]})
    fingerprints = record(memory, {"message": "boom"}, {"message": "boom"}, {"message": "fixed"})["fingerprints"]
    memory.api.post(memory.address(f"errors/{fingerprints[2]}/resolve"), {})
    found = context_of(memory)
    assert {name: found["noise"][name] for name in ("total", "auto", "manual")} == {"total": 2, "auto": 1, "manual": 1}
    assert [(error["fingerprint"], error["count"]) for error in found["errors"]["unresolved"]] == [(fingerprints[0], 2)]
    assert [error["fingerprint"] for error in found["errors"]["resolved"]] == [fingerprints[2]]


def test_scenario_12_rules_that_were_stored_are_in_force_at_once(memory: Memory) -> None:
    memory.put("noise/config", {"rules": [RULE]})
    run = memory.start()
    recorded = record(memory, {"message": "ResizeObserver loop limit"}, {"message": "real"}, **{"Stillhere-Run": run["run_id"]})
    assert (recorded["recorded"], recorded["filtered"]) == (1, 1)


def test_scenario_13_reads_and_writes_at_once_are_whole(shared: Memory) -> None:
    """Two writers replace a value whose halves must agree; six readers never see one that does not."""
    ended = threading.Event()
    shared.put("notes/n", {"a": 0, "b": 0})

    def act(number: int) -> bool:
        if number < 2:
            try:
                return all(shared.put("notes/n", {"a": item, "b": item}).status_code == 200 for item in range(10))
            finally:
                ended.set()
        whole = True
        while not ended.is_set():
            value = shared.get("notes/n").json()["value"]
            whole = whole and value["a"] == value["b"]
        return whole

    assert all(at_once(act))


def test_scenario_17_the_five_hundred_and_first_error_takes_the_place_of_the_one_unseen_longest(memory: Memory) -> None:
    texts = [f"error {'x' * number}" for number in range(501)]
    errors = [{"message": text, "at": ago(minutes=501 - number)} for number, text in enumerate(texts)]
    record(memory, *errors[:500])
    assert ErrorReport.objects.count() == 500
    record(memory, {"message": texts[0]})
    record(memory, errors[500])
    kept = set(ErrorReport.objects.values_list("message", flat=True))
    assert len(kept) == 500
    assert texts[1] not in kept
    assert {texts[0], texts[500]} < kept
    assert len(memory.get("errors/history").json()["value"]["errors"]) == 500


def test_scenario_18_errors_unseen_for_thirty_days_are_gone(memory: Memory) -> None:
    record(memory, {"message": "old"}, {"message": "older but seen again"}, {"message": "young"})
    long_ago = now() - timedelta(days=30)
    ErrorReport.objects.exclude(message="young").update(first_seen=long_ago, last_seen=long_ago)
    assert [error["message"] for error in errors_of(memory)] == ["young"]
    record(memory, {"message": "older but seen again"})
    assert {error["message"]: error["count"] for error in errors_of(memory)} == {"young": 1, "older but seen again": 1}
    ErrorReport.objects.filter(message="young").update(last_seen=long_ago)
    assert prune()["errors"] == 1
    assert set(ErrorReport.objects.values_list("message", flat=True)) == {"older but seen again"}
