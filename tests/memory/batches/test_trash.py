"""The trash of a project's memory: what it lists is restorable, and it has the last hundred, in order."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from memory_app.models import DeletedEntry, MemoryEntry, MemoryStore, MemoryVersion
from tests.memory.batches.conftest import done, set_namespace
from tests.memory.conftest import Memory


def put(key: str, value: Any) -> dict[str, Any]:
    return {"op": "put", "namespace": "n", "key": key, "value": value}


def delete(key: str) -> dict[str, Any]:
    return {"op": "delete", "namespace": "n", "key": key}


def trash(memory: Memory) -> list[Any]:
    return list(memory.api.get(memory.address("memory-deleted")).json()["items"])


@pytest.mark.parametrize("in_batch", [False, True])
def test_a_value_that_was_stored_without_versions_is_restored(memory: Memory, in_batch: bool) -> None:
    set_namespace(memory, "n", versions=0)
    memory.put("n/k", "precious")
    memory.put("n/again", "old")
    memory.api.delete(memory.address("memory-settings/n"))
    memory.put("n/again", "new")
    assert memory.get("n/k/versions").json()["items"] == []
    if in_batch:
        done(memory, delete("k"), delete("again"))
    else:
        assert [memory.delete(f"n/{key}").status_code for key in ("k", "again")] == [204, 204]
    for deleted in trash(memory):
        restored = memory.api.post(memory.address(f"memory-deleted/{deleted['id']}/restore"))
        assert restored.status_code == 201, restored.content
    assert (memory.get("n/k").json()["value"], memory.get("n/again").json()["value"]) == ("precious", "new")
    assert [version["value"] for version in memory.get("n/again/versions").json()["items"]] == ["new", "new"]


def test_the_last_hundred_of_a_batch_stay_last_deleted_first(memory: Memory) -> None:
    keys = [f"{number:03}" for number in range(150)]
    done(memory, *(put(key, key) for key in keys))
    # A put of a key that was deleted makes the server write in the middle of a batch.
    done(memory, *map(delete, keys[:120]), put("000", 1), delete("000"), *map(delete, keys[120:]))
    assert [row["key"] for row in trash(memory)] == [*reversed(keys[120:]), "000", *reversed(keys[51:120])]


def test_what_is_deleted_after_the_clock_was_set_back_is_not_the_first_that_goes(
    memory: Memory, later: Callable[[float], None]
) -> None:
    keys = [f"{number:03}" for number in range(104)]
    done(memory, *(put(key, key) for key in keys))
    later(60)
    done(memory, *map(delete, keys[:100]))
    later(0)
    for key in keys[100:102]:
        assert memory.delete(f"n/{key}").status_code == 204
    done(memory, *map(delete, keys[102:]))
    assert [row["key"] for row in trash(memory)] == [*reversed(keys[4:])]


def test_any_time_that_an_imported_file_named_lets_others_be_deleted(memory: Memory) -> None:
    for key in "ab":
        memory.put(f"n/{key}", 1)
    memory.delete("n/a")
    DeletedEntry.objects.update(deleted_at=datetime.max.replace(tzinfo=UTC))
    assert memory.delete("n/b").status_code == 204
    assert sorted(row["key"] for row in trash(memory)) == ["a", "b"]


def test_a_purge_counts_no_expired_entry(memory: Memory, later: Callable[[float], None]) -> None:
    set_namespace(memory, "short", ttl_minutes=10)
    done(memory, *({**put(key, 1), "namespace": ["short", "b"]} for key in ("k", "l")))
    later(11)
    purge = {"op": "purge", "namespace": ["short"], "deep": True}
    assert done(memory, purge) == [{"purged": 0}]
    assert (MemoryEntry.objects.count(), MemoryStore.objects.get().size_bytes) == (0, 0)
    memory.put("short/one", 1)
    later(22)
    assert done(memory, {"op": "purge", "namespace": "short", "key": "one"}) == [{"purged": 0}]
    assert (MemoryEntry.objects.count(), MemoryVersion.objects.count(), MemoryStore.objects.get().size_bytes) == (0, 0, 0)
    memory.put("short/new", 1)
    done(memory, {**put("old", 1), "namespace": ["short"], "ttl_minutes": 0.001})
    later(23)
    assert done(memory, purge) == [{"purged": 1}]
