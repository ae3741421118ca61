"""A project's memory goes out with the account and comes back the same; a file brings in no secret and nobody else's rows."""

import json
import uuid
from typing import Any

import pytest
from django.db.models import Model

from memory_app.models import (
    Checkpoint,
    DeletedEntry,
    EndpointTiming,
    ErrorReport,
    FilteredCount,
    MemoryEntry,
    MemoryStore,
    MemoryVersion,
    Run,
)
from sessions_app.models import Project
from tests.memory.checkpoints.conftest import Graph
from tests.memory.conftest import Memory
from tests.portability.background_imports import post, status, work
from tests.support.export_files import download, purge, resealed, rows, upload

OF_MEMORY: tuple[type[Model], ...] = (
    MemoryStore, Run, MemoryEntry, MemoryVersion, DeletedEntry, EndpointTiming, ErrorReport, FilteredCount,
)  # fmt: skip
READ = (
    "", "/memory", "/memory-stats", "/memory/notes", "/memory/notes/n", "/memory/notes/n/versions", "/memory/errors/history",
    "/memory/performance/endpoints", "/performance", "/errors", "/context",
)  # fmt: skip
SECRET = "sh_" + "k3Y" * 16 + "z"


def fill(memory: Memory) -> None:
    for number in range(3):
        memory.put("notes/n", {"number": number, "huge": 10**30, "z": None, "a": "中文 🦊"})
    memory.put("notes/gone", "deleted")
    memory.delete("notes/gone")
    memory.api.post(memory.address("performance"), {"samples": [{"endpoint": "GET /", "duration_ms": 12.5}] * 3})
    memory.api.post(memory.address("errors"), {"errors": [{"message": "it broke", "stack": [{"file": "a.py", "line": 3}]}]})
    FilteredCount.objects.create(project_id=memory.project, rule_id="r1", count=5)
    memory.start("an agent")


def all_rows() -> list[list[dict[str, Any]]]:
    """Without their ids, which are others after an import, and in an order that owes nothing to them."""
    left_out = {"id", "entry_id", "deleted_id", "holder_id", "lease_expires_at"}
    kept = [model._default_manager.values() for model in OF_MEMORY]
    return [sorted(({name: row[name] for name in row if name not in left_out} for row in rows), key=str) for rows in kept]


def read(memory: Memory) -> list[Any]:
    return [memory.api.get(f"/projects/{memory.project}{path}").json() for path in READ]


def test_memory_comes_back_as_it_was_and_nobody_is_its_writer(memory: Memory) -> None:
    fill(memory)
    before, shown, content = all_rows(), read(memory), download(memory.api)
    assert all(before), "something of each kind"
    purge(memory.api)
    assert not any(model._default_manager.exists() for model in OF_MEMORY)
    assert upload(memory.api, content).status_code == 200
    assert all_rows() == before
    assert read(memory) == shown
    [deleted] = DeletedEntry.objects.all()
    assert [version.value for version in deleted.versions.all()] == ['"deleted"']
    assert memory.put("notes/n", "written on").status_code == 200
    assert MemoryEntry.objects.get(namespace="notes", key="n").rev > 4
    assert memory.start()["session_count"] == 2


def test_memory_that_is_there_stays_as_it_is(memory: Memory) -> None:
    fill(memory)
    content = download(memory.api)
    [run] = Run.objects.all()
    memory.put("notes/n", "newer", **{"Stillhere-Run": str(run.id)})
    assert upload(memory.api, content).json()["added"] == {}
    assert memory.get("notes/n").json()["value"] == "newer"


def changed(content: bytes, kind: str, **fields: Any) -> bytes:
    """The file with these fields in every row of a kind, sealed as a whole one is."""
    lines = content.splitlines()[:1]
    for line in rows(content):
        row = json.loads(line)
        if kind in row:
            row[kind] |= fields
        lines.append(json.dumps(row).encode())
    return resealed(lines)


WRONG: tuple[tuple[str, dict[str, Any]], ...] = (
    ("memory_entry", {"namespace": "a//b"}),
    ("memory_entry", {"namespace": "a~b"}),
    ("memory_entry", {"namespace": "/".join("abcdefghijk")}),
    ("memory_entry", {"key": "k\0"}),
    ("memory_entry", {"key": ""}),
    ("memory_entry", {"ttl_minutes": 1e300}),
    ("memory_entry", {"value": "{broken"}),
    ("memory_entry", {"value": "[" * 5_000 + "]" * 5_000}),
    ("memory_version", {"value": "NaN"}),
    ("memory_version", {"entry_id": 1}),
    ("deleted_version", {"entry_id": 1}),
    ("memory", {"holder_id": str(uuid.uuid4())}),
    ("deleted_entry", {"namespace": "a/"}),
    ("endpoint_timing", {"histogram": "[[1]]"}),
    ("endpoint_timing", {"histogram": "[]"}),
    ("endpoint_timing", {"p95_ms": -1.0}),
    ("error_report", {"stack": "{broken"}),
    ("error_report", {"days": "[]"}),
    ("error_report", {"days": f'{{"2026-01-01": {10**400}}}'}),
)


def test_what_no_memory_holds_is_refused_whole(memory: Memory, subtests: pytest.Subtests) -> None:
    fill(memory)
    content = download(memory.api)
    purge(memory.api)
    for kind, fields in WRONG:
        with subtests.test(kind=kind, fields=str(fields)[:100]):
            refused = upload(memory.api, changed(content, kind, **fields))
            assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad_export")
            assert not Project.objects.exists()


def test_no_secret_comes_in_by_a_file(memory: Memory) -> None:
    fill(memory)
    content = download(memory.api)
    for kind, fields in {
        "memory_entry": {"value": json.dumps({"note": SECRET, "password": "hunter22"})},
        "memory_version": {"value": json.dumps([SECRET])},
        "deleted_version": {"value": json.dumps({"Authorization": f"Bearer {SECRET}"})},
        "endpoint_timing": {"endpoint": f"GET /?token={SECRET}"},
        "error_report": {"message": SECRET, "known_fix": SECRET, "stack": json.dumps([{"file": SECRET}])},
    }.items():
        content = changed(content, kind, **fields)
    purge(memory.api)
    assert upload(memory.api, content).status_code == 200
    stored = json.dumps(all_rows(), default=str)
    assert SECRET not in stored
    assert "hunter22" not in stored
    assert stored.count("[REDACTED:") >= 8
    entry = MemoryEntry.objects.get(key="n")
    assert entry.size_bytes == len(entry.value.encode()) == MemoryStore.objects.get().size_bytes


def test_counters_are_of_what_came_in(memory: Memory) -> None:
    fill(memory)
    content = changed(download(memory.api), "memory", size_bytes=1, rev=1)
    content = changed(content, "memory_entry", size_bytes=7)
    purge(memory.api)
    assert upload(memory.api, content).status_code == 200
    [entry], [store] = MemoryEntry.objects.all(), MemoryStore.objects.all()
    assert (store.size_bytes, store.rev) == (len(entry.value.encode()), max(MemoryVersion.objects.values_list("rev", flat=True)))


def test_revs_go_on_after_those_of_versions_and_of_the_trash(memory: Memory) -> None:
    fill(memory)
    content = changed(download(memory.api), "memory", rev=1)
    content = changed(changed(content, "memory_version", rev=50), "deleted_version", rev=60)
    versions = [line for line in rows(content) if b'"memory_version"' in line]
    content = resealed([content.splitlines()[0], *(line for line in rows(content) if line not in versions[1:])])
    purge(memory.api)
    assert upload(memory.api, content).status_code == 200
    assert MemoryStore.objects.get().rev == 60
    assert memory.put("notes/n", "written on").status_code == 200
    [deleted] = memory.api.get(memory.address("memory-deleted")).json()["items"]
    assert memory.api.post(memory.address(f"memory-deleted/{deleted['id']}/restore")).status_code == 201


@pytest.mark.parametrize("written", [False, True])
def test_undoing_an_import_keeps_checkpoints_that_were_written_since(memory: Memory, written: bool) -> None:
    """They have no events."""
    graph = Graph(memory)
    graph.put("c1")
    content = download(memory.api)
    purge(memory.api)
    job = post(memory.api, content)
    work()
    if written:
        graph.put("c2")
    memory.api.post(f"/imports/{job['id']}/undo")
    work()
    undone = status(memory.api, job)
    kept = [{"where": f"project {memory.project}", "reason": "changed since"}] if written else []
    assert (undone["state"], undone["left_out"]) == ("undone", kept)
    assert list(Checkpoint.objects.order_by("checkpoint_id").values_list("checkpoint_id", flat=True)) == ["c1", "c2"] * written
    assert Project.objects.filter(owner__isnull=False).exists() is written
