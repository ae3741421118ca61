"""Erasing long threads: how much work it is, and what others put meanwhile."""

import json
from typing import Any

import pytest
from django.db import connection

from memory_app.checkpoints import row_erasing
from memory_app.checkpoints.pruning import DELTA_CHANNELS
from memory_app.checkpoints.threads import erasing
from memory_app.models import ChannelValue, Checkpoint, GraphThread, MemoryStore, PendingWrite
from tests.memory.checkpoints.conftest import Graph, check_sizes, grown, in_pieces_of


def long_thread(graph: Graph, name: str, count: int) -> Graph:
    """Each checkpoint has values of its own in five channels, and a write."""
    project_id, values = graph.memory.project, list[ChannelValue]()
    thread = GraphThread.objects.create(project_id=project_id, name=name)
    checkpoints, writes = list[Checkpoint](), list[PendingWrite]()
    for number in range(count):
        place = {"thread": thread, "ns": "", "size_bytes": 1, "type": "t", "data": b"d"}
        versions = {f"channel{channel}": str(number) for channel in range(5)}
        more = {"run_id": "r" if number % 2 else "", "metadata": "{}", "versions": json.dumps(versions), "state_bytes": 6}
        checkpoints.append(Checkpoint(checkpoint_id=f"c{number:04}", **place, **more))
        values += [ChannelValue(channel=channel, version=version, **place) for channel, version in versions.items()]
        writes.append(PendingWrite(checkpoint_id=f"c{number:04}", task_id="t", idx=0, channel="x", **place))
    Checkpoint.objects.bulk_create(checkpoints)
    ChannelValue.objects.bulk_create(values)
    PendingWrite.objects.bulk_create(writes)
    thread.size_bytes = 7 * count
    thread.save()
    store, _ = MemoryStore.objects.get_or_create(project_id=project_id)
    store.checkpoint_bytes += thread.size_bytes
    store.save()
    return Graph(graph.memory, name)


@pytest.mark.parametrize("act", ["delete", "prune", "runs", "copy"])
def test_twice_as_long_a_thread_is_twice_the_work(graph: Graph, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    """In instructions of SQLite's machine, which do not depend on how busy the computer is."""
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL does not count its work.")
    in_pieces_of(10, monkeypatch)

    def work(thread: Graph) -> int:
        steps = 0

        def count_steps() -> int:
            nonlocal steps
            steps += 1
            return 0

        connection.connection.set_progress_handler(count_steps, 10)
        answer = {
            "delete": lambda: thread.api.delete(thread.address()),
            "prune": lambda: thread.api.post(thread.address("/prune"), {}),
            "runs": lambda: thread.api.post(thread.memory.address("checkpoints/delete-runs"), {"run_ids": ["r"]}),
            "copy": lambda: thread.api.post(thread.address("/copy"), {"to": f"{thread.thread}-twin"}),
        }[act]()
        connection.connection.set_progress_handler(None, 0)
        assert answer.status_code in {200, 201}
        return steps

    short = work(long_thread(graph, "short", 60))
    long = work(long_thread(graph, "long", 240))
    assert long < 5 * short  # The square would be 16 times as much.
    check_sizes()


def test_a_value_that_is_used_again_meanwhile_stays(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing refers to it when the values are sought, but then a checkpoint is put, and another one changed."""
    grown(graph, 6)
    unused_values = row_erasing.unused_values

    def used_again(thread_id: int) -> list[int]:
        found = unused_values(thread_id)
        assert graph.put("c6", parent="c5", versions={"own": "1"}).status_code == 201
        assert graph.put("c5", parent="c4", versions={"all": "1", "own": "2"}).status_code == 200
        return found

    monkeypatch.setattr(row_erasing, "unused_values", used_again)
    assert graph.api.post(graph.address("/prune"), {}).json() == {"deleted": 5}
    left = graph.read()
    assert [item["id"] for item in left["items"]] == ["c6", "c5"]
    assert [(value["channel"], value["version"]) for value in left["values"]] == [("all", "1"), ("own", "1"), ("own", "2")]
    assert ChannelValue.objects.count() == 3
    check_sizes()


def test_a_branch_that_is_put_meanwhile_keeps_what_it_is_rebuilt_from(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    counters: dict[str, Any] = {DELTA_CHANNELS: {"log": [2, 2]}}
    grown(graph, 6)
    graph.put("c6", parent="c5", versions={"log": "1"}, values={"log": b"snapshot"})
    graph.put("c7", parent="c6", metadata=counters)
    graph.put("c8", parent="c5")

    def branch_in_between(steps: Any) -> None:
        for number, _ in enumerate(steps):
            if number == 0 and Checkpoint.objects.filter(checkpoint_id="c9").count() == 0:
                graph.put("c9", parent="c7", metadata=counters)

    in_pieces_of(4, monkeypatch)
    monkeypatch.setattr(erasing, "run_paced", branch_in_between)
    assert graph.api.post(graph.address("/prune"), {}).json() == {"deleted": 7}
    assert graph.ids() == ["c9", "c7", "c6"]
    assert [(value.channel, value.version) for value in ChannelValue.objects.all()] == [("log", "1")]
    check_sizes()


def test_a_changed_checkpoint_keeps_its_time(graph: Graph) -> None:
    graph.put("c1", versions={"a": "1"}, values={"a": b"1"}, metadata={"step": 1})
    before = graph.read()["items"][0]
    assert graph.put("c1", versions={"a": "2"}, values={"a": b"2"}, metadata={"step": 2}).json()["created"] is False
    after = graph.read()["items"][0]
    assert (after["created_at"], after["metadata"]) == (before["created_at"], {"step": 2})
    check_sizes()


def test_values_that_an_interrupted_prune_left_go_with_the_next_one(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    grown(graph)
    with monkeypatch.context() as patch:
        patch.setattr("memory_app.checkpoints.threads.services.erase_unused_values", lambda **_: None)
        assert graph.api.post(graph.address("/prune"), {}).json() == {"deleted": 3}
    assert ChannelValue.objects.count() == 5
    assert graph.api.post(graph.address("/prune"), {}).json() == {"deleted": 0}
    assert ChannelValue.objects.count() == 2
    check_sizes()
