"""Settings of namespaces: exact values, no lease, fewer versions, expiry, quotas; the longest prefix applies."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from memory_app.key_value.entries import reading
from memory_app.key_value.namespaces import services
from memory_app.models import DeletedEntry, MemoryEntry, MemoryStore, MemoryVersion, NamespaceSettings
from sessions_app.chats.lifecycle.pruning import prune
from tests.memory.batches.conftest import done, run, set_namespace
from tests.memory.conftest import Memory
from tests.memory.portability.folder_files import bring_in
from tests.support.export_files import download, purge, upload

DEFAULTS = {
    "exact": False, "leased": True, "versions": 10, "ttl_minutes": None, "refresh_on_read": False, "quota_bytes": None,
    "entry_bytes": None,
}  # fmt: skip
SECRETS = {"Authorization": "Bearer abcdefghijklmnop", "nul": "a\0b", "n": 12345678901234567890123, "f": 1.0}
type Later = Callable[[float], None]


def listed(memory: Memory, namespace: Any, **more: Any) -> Any:
    return done(memory, {"op": "list", "namespace": namespace, "values": True, **more})[0]["items"]


def test_settings_are_put_read_listed_and_deleted(memory: Memory) -> None:
    assert memory.api.get(memory.address("memory-settings/users")).status_code == 404
    made = set_namespace(memory, "users/1", versions=3)
    assert (made.status_code, made.json()) == (
        201,
        {"namespace": ["users", "1"], "labels": ["users", "1"], **DEFAULTS, "versions": 3},
    )
    replaced = set_namespace(memory, "users/1", exact=True)
    assert (replaced.status_code, replaced.json()["versions"], replaced.json()["exact"]) == (200, 10, True)
    assert memory.api.get(memory.address("memory-settings/users/1")).json() == replaced.json()
    assert [row["labels"] for row in memory.api.get(memory.address("memory-settings")).json()["items"]] == [["users", "1"]]
    assert memory.api.delete(memory.address("memory-settings/users/1")).status_code == 204
    assert memory.api.delete(memory.address("memory-settings/users/1")).status_code == 404
    assert MemoryStore.objects.get().has_settings is False


@pytest.mark.parametrize(
    "values",
    [
        {"versions": 11}, {"versions": -1}, {"ttl_minutes": 0}, {"ttl_minutes": 1e9}, {"quota_bytes": -1}, {"entry_bytes": 0},
        {"entry_bytes": 1_000_001}, {"exact": "yes"}, {"leased": None}, {"ttl": 1},
    ],
)  # fmt: skip
def test_settings_out_of_bounds_are_refused(memory: Memory, values: dict[str, Any]) -> None:
    assert set_namespace(memory, "n", **values).status_code == 422


@pytest.mark.parametrize("name", ["a~2b", "a//b", "/".join("abcdefghijk"), "x" * 129])
def test_names_that_are_no_namespace_have_no_settings(memory: Memory, name: str) -> None:
    assert set_namespace(memory, name).status_code == 422


def test_a_name_with_a_line_feed_has_settings(memory: Memory) -> None:
    assert set_namespace(memory, "a%0Ab/c", versions=3).json()["labels"] == ["a\nb", "c"]


def test_an_exact_namespace_keeps_what_was_sent(memory: Memory) -> None:
    set_namespace(memory, "exact", exact=True)
    assert memory.put("exact/k", SECRETS).json()["redacted"] == {}
    assert memory.get("exact/k").json()["value"] == SECRETS
    [result] = done(memory, {"op": "put", "namespace": ["exact", "beneath"], "key": "k", "value": SECRETS})
    assert result["redacted"] == {}
    assert listed(memory, ["exact", "beneath"])[0]["value"] == SECRETS
    assert memory.put("other/k", SECRETS).json()["redacted"] == {"authorization": 1}
    memory.put("exact/k", 1)
    restored = memory.get("exact/k/versions").json()["items"][-1]
    assert restored["value"] == SECRETS


def test_without_a_lease_writes_are_taken_beside_a_run(memory: Memory) -> None:
    set_namespace(memory, "free", leased=False)
    set_namespace(memory, "free/held", leased=True)
    memory.start()
    assert memory.put("free/k", 1).status_code == 201
    assert memory.delete("free/k").status_code == 204
    free, held = ({"op": "put", "namespace": namespace, "key": "k", "value": 1} for namespace in ("free", ["free", "held"]))
    assert run(memory, free).status_code == 200
    assert run(memory, free, held).status_code == 423
    assert memory.put("other/k", 1).status_code == 423
    assert memory.delete("free?purge=1").status_code == 423


def test_versions_are_kept_as_many_as_wanted(memory: Memory) -> None:
    set_namespace(memory, "few", versions=2)
    set_namespace(memory, "none", versions=0)
    for number in range(4):
        memory.put("few/k", number)
        memory.put("none/k", number)
    assert [version["value"] for version in memory.get("few/k/versions").json()["items"]] == [3, 2]
    assert memory.get("none/k/versions").json()["items"] == []
    assert memory.delete("none/k").status_code == 204
    assert not DeletedEntry.objects.exists()
    assert MemoryVersion.objects.filter(entry__namespace="none").count() == 0


def test_fewer_versions_than_there_are_leave_the_newest(memory: Memory) -> None:
    for number in range(12):
        memory.put("few/k", number)
    set_namespace(memory, "few", versions=3)
    memory.put("few/k", 12)
    assert [version["value"] for version in memory.get("few/k/versions").json()["items"]] == [12, 11, 10]
    set_namespace(memory, "few", versions=5)
    done(memory, *({"op": "put", "namespace": "few", "key": "k", "value": number} for number in (13, 14, 15)))
    assert [version["value"] for version in memory.get("few/k/versions").json()["items"]] == [15, 14, 13, 12, 11]


def test_an_expired_entry_is_absent_at_once_everywhere(memory: Memory, later: Later) -> None:
    set_namespace(memory, "short", ttl_minutes=10)
    memory.put("short/k", "x")
    memory.put("stays/k", "y")
    assert memory.get("short/k").json()["expires_at"] is not None
    later(11)
    assert memory.get("short/k").status_code == 404
    assert memory.get("short/k/versions").status_code == 404
    assert memory.delete("short/k").status_code == 404
    assert memory.get("short").json()["items"] == []
    assert [row["namespace"] for row in memory.api.get(memory.address("memory")).json()["items"]] == ["stays"]
    assert done(memory, {"op": "get", "namespace": "short", "key": "k"}) == [{"entry": None}]
    assert listed(memory, [], deep=True)[0]["namespace"] == "stays"
    assert memory.put("short/k", "z", **{"If-Match": "*"}).status_code == 412
    made = memory.put("short/k", "z", **{"If-None-Match": "*"})
    assert made.status_code == 201
    assert [version["value"] for version in memory.get("short/k/versions").json()["items"]] == ["z"]
    assert MemoryStore.objects.get().size_bytes == 6


def test_pruning_erases_what_expired_and_its_bytes(memory: Memory, later: Later) -> None:
    set_namespace(memory, "short", ttl_minutes=10)
    memory.put("short/k", "x")
    memory.put("short/k", "xx")
    memory.put("stays/k", "y")
    assert sum(prune().values()) == 0
    later(11)
    counts = prune()
    assert (counts["expired versions"], counts["expired entries"]) == (2, 1)
    assert [entry.namespace for entry in MemoryEntry.objects.all()] == ["stays"]
    assert MemoryStore.objects.get().size_bytes == 3


@pytest.mark.parametrize("refresh", [True, False])
def test_a_read_moves_the_expiry_where_it_should(memory: Memory, later: Later, refresh: bool) -> None:
    set_namespace(memory, "short", ttl_minutes=10, refresh_on_read=refresh)
    memory.put("short/single", 1)
    memory.put("short/batch", 1)
    memory.put("short/listed", 1)
    later(8)
    memory.get("short/single")
    done(memory, {"op": "get", "namespace": "short", "key": "batch"})
    listed(memory, "short", prefix="listed")
    memory.get("short")
    later(12)
    found = [memory.get(f"short/{key}").status_code for key in ("single", "batch", "listed")]
    assert found == [200 if refresh else 404] * 3


def test_an_operation_may_have_a_time_of_its_own(memory: Memory, later: Later) -> None:
    place = {"namespace": ["a", "b"], "key": "k"}
    done(memory, {"op": "put", **place, "value": 1, "ttl_minutes": 10})
    later(8)
    done(memory, {"op": "get", **place, "refresh": True}, {"op": "put", "namespace": "x", "key": "y", "value": 1})
    later(12)
    assert done(memory, {"op": "get", **place})[0]["entry"]["value"] == 1
    later(19)
    assert done(memory, {"op": "get", **place}) == [{"entry": None}]


@pytest.mark.parametrize("value", [1, 2])
@pytest.mark.parametrize("minutes", [None, 1_000])
@pytest.mark.parametrize("read", [{"op": "get", "key": "k"}, {"op": "list", "values": True}])
def test_a_read_does_not_undo_what_a_later_put_says(
    memory: Memory, later: Later, read: dict[str, Any], minutes: int | None, value: int
) -> None:
    place: dict[str, Any] = {"namespace": "n", "key": "k"}
    done(memory, {"op": "put", **place, "value": 1, "ttl_minutes": 10})
    later(8)
    put = {"op": "put", **place, "value": value, **({} if minutes is None else {"ttl_minutes": minutes})}
    done(memory, {**read, "namespace": "n", "refresh": True}, put, {"op": "list", "namespace": "n"})
    later(19)
    assert done(memory, {"op": "get", **place})[0]["entry"]["value"] == value
    assert MemoryEntry.objects.get().ttl_minutes == minutes


def test_a_read_moves_no_expiry_that_changed_meanwhile(memory: Memory, later: Later, monkeypatch: pytest.MonkeyPatch) -> None:
    place = {"namespace": "n", "key": "k", "value": 1}
    done(memory, {"op": "put", **place, "ttl_minutes": 10})
    later(8)
    touch = reading._touch

    def late(*read: Any) -> None:
        done(memory, {"op": "put", **place, "ttl_minutes": 1_000})
        touch(*read)

    monkeypatch.setattr(reading, "_touch", late)
    done(memory, {"op": "get", "namespace": "n", "key": "k", "refresh": True})
    later(900)
    assert MemoryEntry.objects.get().ttl_minutes == 1_000
    assert memory.get("n/k").status_code == 200


def test_a_folder_names_what_the_settings_do_not_allow(
    memory: Memory, later: Later, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done(memory, {"op": "put", "namespace": "old", "key": "k", "value": "x" * 98, "ttl_minutes": 10})
    set_namespace(memory, "small", quota_bytes=10)
    set_namespace(memory, "tiny", entry_bytes=10)
    for namespace in ("small", "tiny"):
        (tmp_path / namespace).mkdir()
        (tmp_path / namespace / "k.json").write_text(json.dumps("x" * 98))
    later(11)
    left_out = bring_in(capsys, path, folder=tmp_path)
    assert len([line for line in left_out if line.startswith(("small/k.json", "tiny/k.json"))]) == 2
    assert not MemoryEntry.objects.exists()
    assert MemoryStore.objects.get().size_bytes == 0


def test_quotas_of_a_namespace_and_of_an_entry(memory: Memory, later: Later) -> None:
    set_namespace(memory, "small", quota_bytes=250, ttl_minutes=10)
    set_namespace(memory, "tiny", entry_bytes=10)
    assert memory.put("small/a", "x" * 98).status_code == 201
    put = {"op": "put", "namespace": ["small", "b"], "key": "k", "value": "x" * 98}
    assert run(memory, put).status_code == 200
    full = memory.put("small/c", "x" * 98)
    assert (full.status_code, full.json()["error"]["code"]) == (507, "over_namespace_quota")
    refused = run(memory, {**put, "key": "l", "value": "x" * 48}, {**put, "key": "m"})
    assert (refused.status_code, refused.json()["error"]["details"]["index"]) == (507, 1)
    assert memory.put("small/a", "x" * 8).status_code == 200
    assert memory.put("small/c", "x" * 98).status_code == 201
    assert memory.put("tiny/a", "x" * 9).status_code == 413
    assert memory.put("tiny/a", "x" * 8).status_code == 201
    later(11)
    assert memory.put("small/d", "x" * 198).status_code == 201
    assert MemoryStore.objects.get().size_bytes == sum(MemoryEntry.objects.values_list("size_bytes", flat=True)) == 210


def test_the_longest_prefix_applies_as_a_whole(memory: Memory) -> None:
    set_namespace(memory, "a", exact=True, versions=2)
    set_namespace(memory, "a/b", versions=3)
    for namespace in (["a"], ["a", "b"], ["a", "b", "c"], ["a", "x"], ["a-b"]):
        put = {"op": "put", "namespace": namespace, "key": "k"}
        results = done(memory, *({**put, "value": {"password": f"hunter-{number}"}} for number in range(4)))
        exact = namespace in (["a"], ["a", "x"])
        assert results[0]["redacted"] == ({} if exact else {"password": 1})
    counts = {entry.namespace: entry.versions.count() for entry in MemoryEntry.objects.all()}
    assert counts == {"a": 2, "a/x": 2, "a/b": 1, "a/b/c": 1, "a-b": 1}


def test_settings_and_paths_go_out_and_come_back_with_the_account(memory: Memory) -> None:
    from tests.support.export_files import download, purge, upload

    set_namespace(memory, "exact/a~1b", exact=True, leased=False, ttl_minutes=50)
    done(memory, {"op": "put", "namespace": ["exact", "a/b"], "key": "any / key", "value": SECRETS})
    shown = [memory.api.get(memory.address(path)).json() for path in ("memory-settings", "memory")]
    before = listed(memory, [], deep=True)
    content = download(memory.api)
    purge(memory.api)
    assert upload(memory.api, content).status_code == 200
    assert [memory.api.get(memory.address(path)).json() for path in ("memory-settings", "memory")] == shown
    assert listed(memory, [], deep=True) == before
    assert before[0]["value"] == SECRETS
    assert MemoryStore.objects.get().has_settings is True
    assert "any / key" in json.dumps(before)


def test_a_file_brings_no_more_settings_than_a_project_may_have(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        assert set_namespace(memory, name).status_code == 201
    file = download(memory.api)
    purge(memory.api)
    monkeypatch.setattr(services, "MOST_SETTINGS", 2)
    refused = upload(memory.api, file)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "too_many_settings")
    assert refused.json()["error"]["details"] == {"limit": 2, "count": 3}
    assert not NamespaceSettings.objects.exists()
    monkeypatch.setattr(services, "MOST_SETTINGS", 3)
    assert upload(memory.api, file).status_code == 200
    assert NamespaceSettings.objects.count() == 3


def test_their_names_and_those_of_the_trash_have_the_order_of_their_bytes(memory: Memory) -> None:
    names = ["Z", "_", "a", "a-b", "a0", "aB", "é"]
    for name in reversed(names):
        assert set_namespace(memory, quote(name)).status_code == 201
        DeletedEntry.objects.create(project_id=memory.project, namespace=name, key=name)
    assert [row["namespace"] for row in memory.api.get(memory.address("memory-settings")).json()["items"]] == names
    for column in ("namespace", "key"):
        assert list(DeletedEntry.objects.order_by(column).values_list(column, flat=True)) == names
