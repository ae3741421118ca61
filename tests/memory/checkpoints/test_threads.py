"""Threads: deleting, copying, pruning, runs, and what becomes of them with their project and in files."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from memory_app.checkpoints import rows
from memory_app.checkpoints.pruning import DELTA_CHANNELS
from memory_app.checkpoints.threads import erasing
from memory_app.models import ChannelValue, Checkpoint, GraphThread, MemoryStore, PendingWrite
from sessions_app.core.storage.paced_writes import run_paced
from sessions_app.models import Project
from tests.memory.checkpoints.conftest import Graph, check_sizes, counted_pieces, grown, in_pieces_of
from tests.memory.checkpoints.test_sizes import check_rows
from tests.support.export_files import resealed, upload

ROWS = (Checkpoint, ChannelValue, PendingWrite, GraphThread)


def test_a_deleted_thread_leaves_nothing(graph: Graph) -> None:
    grown(graph)
    other = Graph(graph.memory, "other")
    grown(other)
    assert graph.api.delete(graph.address()).json() == {"deleted": 4}
    assert graph.api.delete(graph.address()).json() == {"deleted": 0}
    assert [row.name for row in GraphThread.objects.all()] == ["other"]
    assert (Checkpoint.objects.count(), ChannelValue.objects.count(), PendingWrite.objects.count()) == (4, 5, 4)
    check_sizes()


@pytest.mark.parametrize("strategy", ["delete", "keep_latest"])
def test_a_long_thread_goes_in_pieces_between_which_others_write(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """A checkpoint that is put in between may refer to what is still there, and does not lose it."""
    grown(graph, 5)
    erased = counted_pieces(monkeypatch)

    def write_in_between(steps: Iterator[bool]) -> None:
        for _ in steps:
            check_sizes()
            if len(erased) == 1:
                assert graph.put("d0", parent="c4", versions={"own": "4"}).status_code == 201
                assert len(graph.ids()) == 4

    monkeypatch.setattr(erasing, "FIRST_PIECE", 4)
    monkeypatch.setattr(erasing, "run_paced", write_in_between)
    deleted = graph.api.post(graph.address("/prune"), {"strategy": strategy}).json()["deleted"]
    assert erased[0] == 2
    left = graph.read()
    assert (deleted, [item["id"] for item in left["items"]]) == ((6, []) if strategy == "delete" else (5, ["d0"]))
    assert [value["version"] for value in left["values"]] == ([] if strategy == "delete" else ["4"])
    check_sizes()


def test_threads_are_listed_by_name(graph: Graph) -> None:
    for name in ("b", "a", "c"):
        Graph(graph.memory, name).put("c1")
    first = graph.api.get(graph.memory.address("threads?limit=2")).json()
    assert [each["thread"] for each in first["items"]] == ["a", "b"]
    rest = graph.api.get(graph.memory.address(f"threads?cursor={first['next']}")).json()
    assert ([each["thread"] for each in rest["items"]], rest["next"]) == (["c"], None)


def test_a_copy_is_the_same_and_stands_alone(graph: Graph) -> None:
    grown(graph)
    before = graph.read()
    copied = graph.api.post(graph.address("/copy"), {"to": "twin / 2"})
    assert (copied.status_code, copied.json()) == (201, {"copied": 4})
    twin = Graph(graph.memory, "twin%20~1%202")
    assert twin.read() == before
    check_sizes()
    graph.api.delete(graph.address())
    assert twin.read() == before
    assert graph.api.post(graph.address("/copy"), {"to": "third"}).status_code == 404
    assert not GraphThread.objects.filter(name="third").exists()
    assert twin.api.post(twin.address("/copy"), {"to": "twin / 2"}).status_code == 422


def test_values_come_in_one_order_whatever_plan_the_database_chooses(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    grown(graph)
    read_parts, before = rows.read_parts, graph.read()

    def backwards(*asked: Any) -> tuple[list[Any], ...]:
        data, writes, values = read_parts(*asked)
        return data[::-1], writes[::-1], values[::-1]

    monkeypatch.setattr(rows, "read_parts", backwards)
    assert graph.read() == before
    assert [value["version"] for value in before["values"]] == ["1", "0", "1", "2", "3"]


def test_a_copy_is_made_in_pieces_that_are_whole(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written in between to the source is copied too, and what is erased in the copy costs it no values."""
    grown(graph, 5)
    graph.write("z9", (0, "x", b"of a checkpoint that comes later"))
    twin, seen = Graph(graph.memory, "twin"), list[int]()

    def look_in_between(steps: Iterator[bool]) -> None:
        for number, _ in enumerate(steps):
            check_sizes()
            page = twin.read()
            seen.append(len(page["items"]))
            named = {(channel, version) for item in page["items"] for channel, version in item["versions"].items()}
            assert {(value["channel"], value["version"]) for value in page["values"]} == named
            if number == 0:
                graph.put("c7", parent="c4", versions={"own": "4"})
                assert twin.api.post(twin.address("/prune"), {}).json() == {"deleted": 1}
                assert graph.api.post(graph.address("/copy"), {"to": "twin"}).status_code == 409

    monkeypatch.setattr(erasing, "FIRST_PIECE", 2)
    monkeypatch.setattr("sessions_app.core.storage.paced_writes.LEAST", 2)
    monkeypatch.setattr(erasing, "run_paced", lambda steps: look_in_between(steps) if not seen else run_paced(steps))
    assert graph.api.post(graph.address("/copy"), {"to": "twin"}).json() == {"copied": 6}
    assert twin.ids() == ["c7", "c4", "c3", "c2", "c1"]
    assert twin.put("z9", versions={"all": "1"}).status_code == 201
    assert len(twin.read(limit=1)["items"][0]["writes"]) == 1
    check_sizes()


def test_a_copy_overwrites_nothing_and_needs_room(graph: Graph, settings: Any) -> None:
    grown(graph)
    other = Graph(graph.memory, "other")
    other.put("c9")
    Graph(graph.memory, "written").write("c1", (0, "a", b"1"))
    Graph(graph.memory, "empty-write").write("c1", (0, "a", b""))
    for taken in ("other", "written", "empty-write"):
        assert graph.api.post(graph.address("/copy"), {"to": taken}).json()["error"]["code"] == "thread_exists"
    settings.CHECKPOINT_BYTES = MemoryStore.objects.get().checkpoint_bytes + 10
    assert graph.api.post(graph.address("/copy"), {"to": "third"}).status_code == 507
    assert not GraphThread.objects.filter(name="third").exists()
    check_sizes()


@pytest.mark.parametrize("name", ["a\\u0000b", "\\ud800x", "\ufffd", ""])
def test_a_copy_has_a_name_that_an_address_can_have(graph: Graph, name: str) -> None:
    graph.put("c1")
    assert graph.api.post(graph.address("/copy"), f'{{"to": "{name}"}}').status_code == 422
    assert [thread.name for thread in GraphThread.objects.all()] == ["t"]


def test_a_pruned_thread_keeps_the_latest_of_each_namespace(graph: Graph) -> None:
    grown(graph)
    graph.put("c9", ns="sub", parent="c8")
    assert graph.api.post(graph.address("/prune"), {}).json() == {"deleted": 3}
    assert graph.ids() == ["c9", "c3"]
    assert [write.checkpoint_id for write in PendingWrite.objects.all()] == ["c3"]
    assert {(value.channel, value.version) for value in ChannelValue.objects.all()} == {("all", "1"), ("own", "3")}
    check_sizes()
    assert graph.api.post(graph.address("/prune"), {"strategy": "delete"}).json() == {"deleted": 2}
    assert not GraphThread.objects.exists()


def test_a_thread_that_has_no_checkpoint_yet_keeps_its_writes_when_it_is_pruned(graph: Graph) -> None:
    graph.write("c0", (0, "x", b"early"))
    assert graph.api.post(graph.address("/prune"), {}).json() == {"deleted": 0}
    assert graph.put("c0").status_code == 201
    assert [write["channel"] for write in graph.read()["items"][0]["writes"]] == ["x"]


def test_a_pruned_thread_keeps_what_delta_channels_are_rebuilt_from(graph: Graph) -> None:
    """Back to the last checkpoint that has the channel's value, on the way of the parents."""
    counters = {DELTA_CHANNELS: {"log": [2, 2]}}
    graph.put("c0")
    graph.put("c1", parent="c0", versions={"log": "1"}, values={"log": b"snapshot"})
    graph.put("c2", parent="c1", metadata=counters)
    graph.put("c3-branch", parent="c2", metadata=counters)
    graph.put("c4", parent="c2", metadata=counters)
    for name in ("c1", "c2", "c4"):
        graph.write(name, (0, "log", name.encode()))
    assert graph.api.post(graph.address("/prune"), {}).json() == {"deleted": 2}
    assert graph.ids() == ["c4", "c2", "c1"]
    assert PendingWrite.objects.count() == 3
    assert ChannelValue.objects.count() == 1


def test_checkpoints_of_runs_are_deleted_in_all_threads(graph: Graph) -> None:
    other = Graph(graph.memory, "other")
    grown(graph, run_id="r1")
    grown(other, 2, run_id="r1")
    other.put("z", metadata={"run_id": "r2"})
    delete = graph.memory.address("checkpoints/delete-runs")
    assert graph.api.post(delete, {"run_ids": ["", "r1"]}).json() == {"deleted": 6}
    assert (graph.ids(), other.ids()) == ([], ["z"])
    assert not ChannelValue.objects.exists()
    check_sizes()


def test_checkpoints_of_runs_go_in_pieces(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Graph(graph.memory, "other")
    grown(graph, 5, run_id="r1")
    grown(other, 3, run_id="r1")
    pieces = counted_pieces(monkeypatch)
    in_pieces_of(4, monkeypatch)
    deleted = graph.api.post(graph.memory.address("checkpoints/delete-runs"), {"run_ids": ["r1"]}).json()
    assert (deleted, pieces) == ({"deleted": 8}, [2, 1, 2, 2, 1])
    check_sizes()


def test_they_go_with_their_project(graph: Graph) -> None:
    grown(graph)
    Project.objects.get(id=graph.memory.project)
    assert graph.api.delete(f"/projects/{graph.memory.project}?purge=1").status_code == 204
    assert not any(rows._default_manager.exists() for rows in ROWS)


def test_a_file_brings_them_back_with_their_sizes(graph: Graph, bob: User, api: Callable[..., Any]) -> None:
    grown(graph)
    before, sizes = graph.read(), MemoryStore.objects.get().checkpoint_bytes
    states = list(Checkpoint.objects.order_by("checkpoint_id").values_list("state_bytes", flat=True))
    file = b"".join(graph.api.get("/export").streaming_content)
    assert graph.api.delete(f"/projects/{graph.memory.project}?purge=1").status_code == 204
    assert upload(graph.api, file).status_code == 200
    assert graph.read() == before
    assert MemoryStore.objects.get().checkpoint_bytes == sizes
    assert list(Checkpoint.objects.order_by("checkpoint_id").values_list("state_bytes", flat=True)) == states
    check_rows()


@pytest.mark.parametrize(
    ("true", "false"),
    [
        (b'"type":"bytes","data":"', b'"type":"bytes","data":"!'), (b'"channel":"own"', b'"channel":""'),
        (b'{\\"all\\":\\"1\\",', b'{\\"all\\":1,'), (b'"metadata":"{}"', b'"metadata":"[]"'), (b'"name":"t"', b'"name":""'),
        (b'{\\"all\\":\\"1\\",', b'{\\"own\\":\\"1\\",'),
    ],
)  # fmt: skip
def test_a_wrong_file_brings_nothing(graph: Graph, true: bytes, false: bytes) -> None:
    grown(graph)
    file = b"".join(graph.api.get("/export").streaming_content)
    lines = file.splitlines()[:-1]
    assert any(true in line for line in lines)
    assert graph.api.delete(f"/projects/{graph.memory.project}?purge=1").status_code == 204
    assert upload(graph.api, resealed([line.replace(true, false) for line in lines])).status_code == 422
    assert not any(rows._default_manager.exists() for rows in ROWS)
