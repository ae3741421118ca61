"""Threads: what a copy never overwrites or deletes, and names that no address can have."""

from collections.abc import Iterator
from typing import Any

import pytest

from memory_app.checkpoints.threads import erasing
from memory_app.models import Checkpoint, GraphThread, MemoryStore, PendingWrite
from tests.memory.checkpoints.conftest import Graph, check_sizes, grown, in_pieces_of


def test_a_copy_for_which_the_room_is_taken_meanwhile_leaves_nothing(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    grown(graph, 5)

    def fill_in_between(steps: Iterator[bool]) -> None:
        for _ in steps:
            settings.CHECKPOINT_BYTES = MemoryStore.objects.get().checkpoint_bytes

    monkeypatch.setattr(erasing, "FIRST_PIECE", 2)
    monkeypatch.setattr(erasing, "run_paced", fill_in_between)
    assert graph.api.post(graph.address("/copy"), {"to": "twin"}).status_code == 507
    assert [thread.name for thread in GraphThread.objects.all()] == ["t"]
    check_sizes()


def test_a_copy_whose_source_is_deleted_meanwhile_leaves_nothing(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    grown(graph, 5)

    def delete_in_between(steps: Iterator[bool]) -> None:
        for _ in steps:
            GraphThread.objects.filter(name="t").delete()

    monkeypatch.setattr(erasing, "FIRST_PIECE", 2)
    monkeypatch.setattr(erasing, "run_paced", delete_in_between)
    assert graph.api.post(graph.address("/copy"), {"to": "twin"}).status_code == 404
    assert not GraphThread.objects.exists()


def test_what_others_put_into_the_copy_meanwhile_stays_there(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    grown(graph, 7)
    twin, pieces = Graph(graph.memory, "twin"), list[int]()

    def fill_in_between(steps: Iterator[bool]) -> None:
        for number, _ in enumerate(steps):
            pieces.append(number)
            check_sizes()
            if len(pieces) == 1:
                assert twin.put("theirs", versions={"all": "1", "own": "9"}, values={"own": b"theirs"}).status_code == 201
            if len(pieces) == 2:
                settings.CHECKPOINT_BYTES = MemoryStore.objects.get().checkpoint_bytes

    in_pieces_of(2, monkeypatch)
    monkeypatch.setattr(erasing, "run_paced", fill_in_between)
    assert graph.api.post(graph.address("/copy"), {"to": "twin"}).status_code == 507
    found = twin.read()
    assert [item["id"] for item in found["items"]] == ["theirs"]
    assert [value["channel"] for value in found["values"]] == ["all", "own"]
    assert PendingWrite.objects.filter(thread__name="twin").count() == 0
    assert len(graph.ids()) == 7
    check_sizes()


def test_a_copy_that_finds_no_room_never_deletes_writes_that_take_none(graph: Graph, settings: Any) -> None:
    grown(graph)
    there = Graph(graph.memory, "there")
    there.write("c1", (0, "a", b""))
    settings.CHECKPOINT_BYTES = MemoryStore.objects.get().checkpoint_bytes
    assert graph.api.post(graph.address("/copy"), {"to": "there"}).json()["error"]["code"] == "thread_exists"
    assert PendingWrite.objects.filter(thread__name="there").count() == 1


@pytest.mark.parametrize("dots", [".", ".."])
def test_no_name_in_an_address_is_dots_but_stored_ones_go_on(graph: Graph, dots: str) -> None:
    named = Graph(graph.memory, dots)
    graph.put("c1")
    for answer in (
        named.put("c1"), named.write("c1", (0, "a", b"1")), graph.put(dots), graph.put("c1", ns=dots),
        graph.write(dots, (0, "a", b"1")), graph.write("c1", (0, "a", b"1"), task=dots),
        graph.api.post(graph.address("/copy"), {"to": dots}),
    ):  # fmt: skip
        assert answer.status_code == 422
        assert "cannot be `.` or `..`" in answer.json()["error"]["message"]
    assert GraphThread.objects.count() == Checkpoint.objects.count() == 1
    GraphThread.objects.update(name=dots)
    Checkpoint.objects.update(checkpoint_id=dots)
    assert (named.ids(), named.put(dots).status_code, named.put("c2").status_code) == ([dots], 200, 201)
    assert named.api.post(named.address("/copy"), {"to": "twin"}).json() == {"copied": 2}
