"""Expired content of memory is deleted, in small pieces."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command

from memory_app.models import DeletedEntry, MemoryEntry, MemoryVersion, Run
from sessions_app.chats.lifecycle import pruning
from sessions_app.chats.lifecycle.pruning import prune, prune_in_batches
from sessions_app.core.public_names import now
from tests.memory.conftest import Memory

DUE, NOT_YET = timedelta(days=30, minutes=1), timedelta(days=29, hours=23)


@pytest.mark.parametrize(("age", "left"), [(DUE, 0), (NOT_YET, 1)])
def test_a_deleted_entry_goes_after_30_days_with_its_versions(memory: Memory, age: timedelta, left: int) -> None:
    memory.put("notes/stays", 1)
    memory.put("notes/n", 1)
    memory.delete("notes/n")
    DeletedEntry.objects.update(deleted_at=now() - age)
    assert prune()["deleted versions"] == 1 - left
    assert DeletedEntry.objects.count() == left
    assert MemoryVersion.objects.count() == 1 + left
    assert memory.get("notes/stays").json()["value"] == 1


def test_runs_unseen_for_30_days_go_but_not_the_writer(memory: Memory) -> None:
    writer = memory.start()
    memory.start()
    Run.objects.update(last_seen_at=now() - DUE)
    memory.start()
    call_command("prune", verbosity=0)
    assert list(Run.objects.order_by("number").values_list("number", flat=True)) == [1, 3]
    assert memory.put("notes/n", 1, **{"Stillhere-Run": writer["run_id"]}).status_code == 201
    assert memory.start()["session_count"] == 4


def test_large_values_go_few_at_a_time(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "BYTES_AT_ONCE", 2_000)
    for number in range(5):
        memory.put(f"notes/{number}", "x" * 998)
        memory.delete(f"notes/{number}")
    DeletedEntry.objects.update(deleted_at=now() - DUE)
    assert [count for kind, count in prune_in_batches() if kind == "deleted versions"] == [2, 2, 1]


def test_one_that_is_larger_than_that_goes_alone(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruning, "BYTES_AT_ONCE", 10)
    memory.put("notes/n", "x" * 998)
    memory.delete("notes/n")
    DeletedEntry.objects.update(deleted_at=now() - DUE)
    assert prune()["deleted versions"] == 1


def test_a_project_s_memory_goes_in_pieces_before_the_project(
    memory: Memory, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "BYTES_AT_ONCE", 2_000)
    for number in range(5):
        memory.put(f"notes/{number}", "x" * 998)
    memory.put("notes/deleted", "x" * 998)
    memory.delete("notes/deleted")
    memory.start()
    memory.api.delete(f"/projects/{memory.project}")
    assert prune()["projects"] == 0
    project = MemoryEntry.objects.all()[0].project
    project.deleted_at = now() - DUE
    project.save()
    batches = list(prune_in_batches())
    assert [count for kind, count in batches if kind == "projects' versions"] == [2, 2, 1]
    assert sum(count for kind, count in batches if kind == "projects' entries") == 5
    assert sum(count for kind, count in batches if kind == "projects' deleted versions") == 1
    assert batches[-1] == ("projects", 1)
    assert not MemoryEntry.objects.exists()
    assert not Run.objects.exists()
