"""Runs: one writer at a time, by the server's clock, and nothing accepted under an old fence."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from memory_app.core import lease
from memory_app.runs import services as run_services
from sessions_app.core.public_names import now
from tests.memory.conftest import Memory


class Clock:
    """The server's clock, moved by hand."""

    def __init__(self, start: datetime) -> None:
        self.present = start

    def __call__(self) -> datetime:
        return self.present

    def pass_seconds(self, seconds: float) -> None:
        self.present += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(now())
    monkeypatch.setattr(lease, "now", clock)
    monkeypatch.setattr(run_services, "now", clock)
    return clock


def as_run(run: dict[str, Any]) -> dict[str, str]:
    return {"Stillhere-Run": run["run_id"]}


def test_runs_are_counted_and_the_first_one_writes(memory: Memory) -> None:
    first, second = memory.start("one"), memory.start("two")
    assert (first["mode"], first["session_count"]) == ("writer", 1)
    assert (second["mode"], second["session_count"]) == ("reader", 2)
    assert second["holder"]["run_id"] == first["run_id"]
    project = memory.api.get(f"/projects/{memory.project}").json()
    assert project["session_count"] == 2
    assert project["last_session_at"] is not None


def test_while_a_lease_is_held_others_are_told_by_whom(memory: Memory) -> None:
    memory.put("notes/n", 0)
    writer, reader = memory.start("one"), memory.start("two")
    assert memory.put("notes/n", 1, **as_run(writer)).status_code == 200
    for headers in ({}, as_run(reader)):
        for refused in (memory.put("notes/n", 2, **headers), memory.delete("notes/n", **headers)):
            assert refused.status_code == 423
            assert refused.json()["error"]["details"]["holder"]["agent"] == "one"
    assert memory.get("notes/n").json()["value"] == 1


def test_a_process_that_died_frees_the_lease_in_thirty_seconds(memory: Memory, clock: Clock) -> None:
    memory.start("dies")
    clock.pass_seconds(29.9)
    assert memory.put("notes/n", 1).status_code == 423
    assert memory.start()["mode"] == "reader"
    clock.pass_seconds(0.1)
    assert memory.put("notes/n", 1).status_code == 201
    assert memory.start()["mode"] == "writer"


def test_a_heartbeat_keeps_the_lease(memory: Memory, clock: Clock) -> None:
    writer = memory.start()
    for _ in range(5):
        clock.pass_seconds(20)
        assert memory.run(writer["run_id"], "heartbeat").json()["mode"] == "writer"
    assert memory.start()["mode"] == "reader"


def test_after_a_takeover_nothing_is_accepted_under_the_old_fence(memory: Memory, clock: Clock) -> None:
    stopped, other = memory.start("stopped"), memory.start("other")
    taken = memory.run(other["run_id"], "takeover").json()
    assert (taken["mode"], taken["fence"]) == ("writer", stopped["fence"] + 1)
    assert memory.run(stopped["run_id"], "heartbeat").json()["mode"] == "reader"
    late = memory.put("notes/n", "late", **as_run(stopped))
    assert (late.status_code, late.json()["error"]["code"]) == (423, "lease_lost")
    assert memory.run(stopped["run_id"], "end", {"entries": [{"namespace": "notes", "key": "n", "value": 1}]}).status_code == 423
    clock.pass_seconds(60)
    assert memory.put("notes/n", "late", **as_run(stopped)).status_code == 423
    assert memory.get("notes/n").status_code == 404


def test_the_end_writes_what_is_left_and_frees_the_lease(memory: Memory) -> None:
    writer = memory.start()
    entries = [
        {"namespace": "baselines", "key": "home", "value": {"password": "x1"}},
        {"namespace": "notes", "key": "n", "value": 1},
    ]
    ended = memory.run(writer["run_id"], "end", {"entries": entries})
    assert (ended.status_code, ended.json()["redacted"]) == (200, {"password": 1})
    assert memory.get("notes/n").json()["value"] == 1
    assert memory.run(writer["run_id"], "end", {"entries": entries}).status_code == 200
    assert memory.run(writer["run_id"], "heartbeat").status_code == 410
    assert memory.put("notes/n", 2, **as_run(writer)).status_code == 423
    assert memory.start()["mode"] == "writer"


def test_an_end_that_cannot_write_all_writes_nothing(memory: Memory, settings: Any) -> None:
    settings.PROJECT_BYTES = 100
    writer = memory.start()
    entries = [{"namespace": "n", "key": key, "value": "x" * 60} for key in ("a", "b")]
    assert memory.run(writer["run_id"], "end", {"entries": entries}).status_code == 507
    assert memory.get("n/a").status_code == 404
    assert memory.run(writer["run_id"], "heartbeat").json()["mode"] == "writer"


def test_a_run_that_is_not_this_project_s_is_unknown(memory: Memory) -> None:
    elsewhere = Memory(memory.api, "elsewhere").start()
    assert memory.run(elsewhere["run_id"], "heartbeat").status_code == 404
    assert memory.put("notes/n", 1, **as_run(elsewhere)).status_code == 404
    assert memory.put("notes/n", 1, **{"Stillhere-Run": "mine"}).status_code == 422


def test_changes_of_the_lease_are_told(memory: Memory) -> None:
    writer = memory.start()
    other = memory.start()
    memory.run(other["run_id"], "takeover")
    memory.run(other["run_id"], "end")
    told = memory.api.get(memory.address("events?since=0")).json()["items"]
    assert [event["type"] for event in told] == ["LEASE_CHANGED"] * 3
    assert [(event["data"]["run"], event["data"]["held"]) for event in told] == [
        (writer["run_id"], True),
        (other["run_id"], True),
        (other["run_id"], False),
    ]
