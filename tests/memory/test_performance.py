"""Durations: what is told of them is true, a slower run is noticed, and storage stays bounded."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memory_app.models import EndpointTiming
from memory_app.performance import services as performance_services
from memory_app.performance.histogram import RELATIVE_ERROR, Histogram
from sessions_app.core.public_names import now, rfc3339
from tests.memory.conftest import Memory


def samples(endpoint: str, *durations: float) -> list[dict[str, Any]]:
    return [{"endpoint": endpoint, "duration_ms": duration} for duration in durations]


def record(memory: Memory, sent: list[dict[str, Any]], **headers: str) -> Any:
    return memory.api.post(memory.address("performance"), {"samples": sent}, **headers)


def timings(memory: Memory, query: str = "") -> list[dict[str, Any]]:
    return list(memory.api.get(memory.address(f"performance{query}")).json()["items"])


def in_new_run(memory: Memory, sent: list[dict[str, Any]]) -> None:
    run = memory.start()["run_id"]
    assert record(memory, sent, **{"Stillhere-Run": run}).status_code == 201
    memory.run(run, "end")


@pytest.mark.parametrize("shape", ["lognormal", "uniform", "two humps"])
def test_percentiles_are_as_near_as_is_claimed(shape: str) -> None:
    draw = random.Random(7)
    shapes: dict[str, Callable[[], float]] = {
        "lognormal": lambda: draw.lognormvariate(3, 2),
        "uniform": lambda: draw.uniform(0.2, 900),
        "two humps": lambda: draw.choice((12.0, 4_000.0)) * draw.uniform(0.9, 1.1),
    }
    made = shapes[shape]
    values = sorted(made() for _ in range(2_000))
    halves = Histogram(), Histogram()
    for number, value in enumerate(values):
        halves[number % 2].add(value)
    halves[0].merge(halves[1])
    for percent in (1, 50, 95, 99, 100):
        exact = values[-(-len(values) * percent // 100) - 1]
        assert halves[0].percentile(percent) == pytest.approx(exact, rel=RELATIVE_ERROR)


def test_count_mean_and_percentiles_by_endpoint_and_run(memory: Memory) -> None:
    answer = record(memory, samples("GET /cart", *range(1, 101)) + samples("GET /", 7))
    assert answer.status_code == 201
    assert [item["endpoint"] for item in answer.json()["items"]] == ["GET /cart", "GET /"]
    record(memory, samples("GET /cart", 1_000))
    front, cart = timings(memory)
    assert (front["count"], front["mean_ms"], front["p50_ms"], front["p95_ms"]) == (1, 7, 7, 7)
    assert (cart["run"], cart["count"], cart["max_ms"]) == (1, 101, 1_000)
    assert cart["mean_ms"] == pytest.approx(6_050 / 101, abs=0.001)
    assert cart["p50_ms"] == pytest.approx(51, rel=0.01)
    assert cart["p95_ms"] == pytest.approx(96, rel=0.01)
    assert cart["earlier_p95_ms"] is None
    assert EndpointTiming.objects.count() == 2


@pytest.mark.parametrize(
    ("before", "after", "degraded"),
    [(100, 160, True), (100, 145, False), (20, 39, False), (20, 42, True), (2_000, 2_900, False), (100, 60, False)],
)
def test_degraded_is_half_as_slow_again_and_by_twenty_milliseconds(
    memory: Memory, before: float, after: float, degraded: bool
) -> None:
    in_new_run(memory, samples("GET /cart", before))
    in_new_run(memory, samples("GET /cart", after))
    newest, first = timings(memory)
    assert (newest["run"], first["run"]) == (2, 1)
    assert (newest["degraded"], first["degraded"]) == (degraded, False)
    assert newest["earlier_p95_ms"] == before
    assert [item["endpoint"] for item in timings(memory, "?degraded=true")] == ["GET /cart"] * degraded


def test_a_run_is_compared_with_all_earlier_ones_together(memory: Memory) -> None:
    for duration, degraded in ((100, False), (400, True), (100, False)):
        in_new_run(memory, samples("GET /cart", *[duration] * 10))
        assert timings(memory, "?newest=true")[0]["degraded"] is degraded
    in_new_run(memory, samples("GET /cart", 420))
    [newest] = timings(memory, "?newest=true")
    assert (newest["run"], newest["degraded"]) == (4, False)
    assert newest["earlier_p95_ms"] == pytest.approx(400, rel=0.01)


def test_more_samples_of_the_same_run_can_turn_it_round(memory: Memory) -> None:
    in_new_run(memory, samples("GET /cart", 100))
    run = memory.start()["run_id"]
    for sent, degraded in (([500], True), ([90] * 40, False)):
        record(memory, samples("GET /cart", *sent), **{"Stillhere-Run": run})
        assert timings(memory)[0]["degraded"] is degraded


def test_the_lease_guards_it(memory: Memory) -> None:
    memory.start("writer")
    assert record(memory, samples("GET /", 1)).status_code == 423
    assert not EndpointTiming.objects.exists()


def test_storage_stays_bounded(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(performance_services, "ENDPOINTS", 3)
    monkeypatch.setattr(performance_services, "RUNS", 2)
    for duration in (10, 20, 30):
        in_new_run(memory, samples("GET /cart", duration, duration))
    assert [item["run"] for item in timings(memory)] == [3, 2]
    for number in range(4):
        record(memory, samples(f"GET /{number}", 1))
    assert {item["endpoint"] for item in timings(memory)} == {"GET /1", "GET /2", "GET /3"}


def test_a_day_of_durations_takes_little_room(memory: Memory) -> None:
    draw = random.Random(7)
    for _ in range(4):
        record(memory, samples("GET /", *(draw.lognormvariate(4, 1) for _ in range(500))))
    assert len(EndpointTiming.objects.get().histogram) < 4_000


def test_pages_of_the_list_hold_each_once(memory: Memory) -> None:
    for _ in range(3):
        in_new_run(memory, samples("GET /a b", 1) + samples("GET /c", 1))
    seen: list[tuple[str, int]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = memory.api.get(memory.address(f"performance?limit=2&cursor={cursor}")).json()
        seen += [(item["endpoint"], item["run"]) for item in page["items"]]
        cursor = page["next"]
    assert seen == [("GET /a b", 3), ("GET /a b", 2), ("GET /a b", 1), ("GET /c", 3), ("GET /c", 2), ("GET /c", 1)]
    assert memory.api.get(memory.address("performance?cursor=nonsense")).status_code == 422


@pytest.mark.parametrize(
    "sample",
    [
        {"endpoint": "", "duration_ms": 1},
        {"endpoint": "x" * 201, "duration_ms": 1},
        {"endpoint": "x", "duration_ms": -1},
        {"endpoint": "x", "duration_ms": 1e12},
        {"endpoint": "x", "duration_ms": "1"},
        {"endpoint": "x", "duration_ms": 1, "at": "yesterday"},
    ],
)
def test_what_is_no_duration_is_refused(memory: Memory, sample: dict[str, Any]) -> None:
    assert record(memory, [*samples("GET /", 1), sample]).status_code == 422
    assert not EndpointTiming.objects.exists()


def test_a_sample_from_the_future_is_of_now_and_secrets_are_taken_out(memory: Memory) -> None:
    ahead = rfc3339(now() + timedelta(days=3))
    sent = [{"endpoint": "GET /?api_key=k3yk3yk3y", "duration_ms": 1, "at": ahead}]
    assert record(memory, sent).json()["redacted"] == {"api_key": 1}
    [item] = timings(memory)
    assert item["endpoint"] == "GET /?api_key=[REDACTED:api_key]"
    assert item["last_at"] < ahead


def test_the_generated_key_is_read_and_never_written(memory: Memory) -> None:
    assert memory.get("performance/endpoints").status_code == 404
    in_new_run(memory, samples("GET /cart", 100))
    got = memory.get("performance/endpoints")
    [endpoint] = got.json()["value"]["endpoints"]
    assert (endpoint["endpoint"], endpoint["runs"][0]["p95_ms"]) == ("GET /cart", 100)
    assert memory.get("performance/endpoints", **{"If-None-Match": got["ETag"]}).status_code == 304
    for refused in (memory.put("performance/endpoints", {}), memory.delete("performance/endpoints")):
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "generated")
    memory.put("performance/notes", {})
    assert [item["key"] for item in memory.get("performance").json()["items"]] == ["endpoints", "notes"]
    [namespace] = memory.api.get(memory.address("memory")).json()["items"]
    assert (namespace["namespace"], namespace["count"], namespace["size_bytes"]) == ("performance", 2, 2)


def test_it_is_told(memory: Memory) -> None:
    record(memory, samples("GET /cart", 100))
    [event] = memory.api.get(memory.address("events?since=0")).json()["items"]
    assert (event["type"], event["data"]["key"]) == ("MEMORY_CHANGED", "endpoints")
    record(memory, [])
    assert len(memory.api.get(memory.address("events?since=0")).json()["items"]) == 1
