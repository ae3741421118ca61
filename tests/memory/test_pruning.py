"""Expired content of memory is deleted, in small pieces."""

from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections

from memory_app.models import DeletedEntry, MemoryEntry, MemoryVersion, Run
from sessions_app.chats.lifecycle import pruning
from sessions_app.chats.lifecycle.pruning import LOCK, prune, prune_in_batches
from sessions_app.core.public_names import now
from sessions_app.core.storage.sql import on_postgresql
from sessions_app.models import ChatSession, Project, SaveReceipt
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


def test_a_project_that_expires_meanwhile_waits_for_its_memory(memory: Memory, alice: User) -> None:
    """What is due of it was asked before: there were many receipts."""
    memory.put("notes/n", 1)
    project = MemoryEntry.objects.get().project
    memory.api.delete(f"/projects/{memory.project}")
    session = ChatSession.objects.create(project=Project.objects.create(owner=alice, path="/other"))
    SaveReceipt.objects.create(session=session, writer_id="w", seq=1, status=200, created_at=now() - timedelta(days=2))
    kinds = list[str]()
    for kind, _ in prune_in_batches():
        kinds.append(kind)
        if kind == "receipts":
            Project.objects.filter(pk=project.pk).update(deleted_at=now() - DUE)
    assert kinds.index("projects' entries") < kinds.index("projects")


@pytest.mark.skipif(not on_postgresql(), reason="SQLite is pruned by one process")
def test_where_another_process_prunes_this_one_ends(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that is left to the other is not the end of its kind: the project would go with all that it has."""
    memory.put("notes/n", 1)
    memory.api.delete(f"/projects/{memory.project}")
    Project.objects.update(deleted_at=now() - DUE)
    with closing(connections[DEFAULT_DB_ALIAS].copy("other")) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])

        def end_of_other() -> int:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
            return 0

        with monkeypatch.context() as patched:
            patched.setattr(pruning, "collect_files", end_of_other)
            assert list(prune_in_batches()) == []
    assert "projects' entries" in prune()
