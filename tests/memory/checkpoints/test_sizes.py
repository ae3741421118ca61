"""What checkpoints count, and how much one of them and a page of them may have."""

from typing import Any

import pytest

from memory_app.checkpoints import queries, rows, services
from memory_app.models import ChannelValue, Checkpoint, MemoryStore, PendingWrite
from tests.memory.checkpoints.conftest import Graph, check_sizes, typed

PATH = "p" * 2_000
NAMES = ("ns", "checkpoint_id", "parent_id", "metadata", "versions", "type", "task_id", "task_path", "channel", "version")


def check_rows() -> None:
    """Each counts its data and its texts, and a fixed sum."""
    stored: list[Any] = [*Checkpoint.objects.all(), *ChannelValue.objects.all(), *PendingWrite.objects.all()]
    for row in stored:
        assert row.size_bytes == 100 + len(row.data) + sum(len(getattr(row, name, "").encode()) for name in NAMES)
    check_sizes()


def test_names_count_also_without_data(graph: Graph, settings: Any) -> None:
    """A path is sent once, and stored with each write."""
    graph.put("c1", versions={"é": "1"}, values={"é": b""})
    for task in ("a", "b"):
        assert graph.write("c1", *((number, "x", b"") for number in range(20)), task=task, path=PATH).status_code == 200
    check_rows()
    stored = MemoryStore.objects.get().checkpoint_bytes
    assert stored > 40 * 2_100
    settings.CHECKPOINT_BYTES = stored + 10_000
    assert graph.write("c1", *((number, "x", b"") for number in range(20)), task="c", path=PATH).status_code == 507
    assert PendingWrite.objects.count() == 40


def test_a_page_counts_the_names_of_writes(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("c1", "c2", "c3"):
        graph.put(name)
        graph.write(name, *((number, "x", b"") for number in range(10)), path=PATH)
    monkeypatch.setattr(queries, "PAGE_BYTES", 50_000)
    assert graph.ids() == ["c3", "c2"]


def test_one_checkpoint_has_a_limit_however_many_tasks_write(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.MAX_BODY_BYTES = 50_000
    monkeypatch.setattr(services, "MOST_BYTES", 50_000)
    graph.put("c1")
    writes = [(number, "x", b"") for number in range(10)]
    assert [graph.write("c1", *writes, task=task, path=PATH).status_code for task in ("a", "b", "c")] == [200, 200, 413]
    assert graph.write("c2", *writes, task="c", path=PATH).status_code == 200
    graph.put("c3", versions={"a": "1", "b": "1"}, values={"a": b"a" * 20_000, "b": b"b" * 20_000})
    more: dict[str, Any] = {"versions": {"a": "1", "b": "1", "c": "1"}, "values": {"c": b"c" * 20_000}}
    error = graph.put("c4", **more).json()["error"]
    assert (error["code"], error["details"]["limit"]) == ("too_large", 50_000)
    assert graph.put("c4", versions={"c": "1"}, values={"c": b"c" * 20_000}).status_code == 201
    check_sizes()


def test_long_versions_are_read_for_the_page_only(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        versions = {f"channel{channel}": f"{number}.{channel}" for channel in range(5)}
        graph.put(f"c{number}", versions=versions, values=dict.fromkeys(versions, b"v"))
    before = graph.read(), graph.api.get(graph.address("/checkpoints/~/c1")).json()
    asked: list[int] = []
    read_versions = rows.read_versions

    def counted(thread_id: int, places: list[Any]) -> Any:
        asked.append(len(places))
        return read_versions(thread_id, places)

    monkeypatch.setattr(rows, "LONG_VERSIONS", 20)
    monkeypatch.setattr(rows, "read_versions", counted)
    assert (graph.read(), graph.api.get(graph.address("/checkpoints/~/c1")).json()) == before
    assert [len(graph.read(limit=1)["items"]), asked] == [1, [3, 1, 1]]
    assert before[1]["checkpoint"] == typed(b"state")
