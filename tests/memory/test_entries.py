"""Entries: a read returns what was saved, no write is lost, and the limits hold."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

import pytest
from django.contrib.auth.models import User
from django.db import connection

from memory_app.core.usage import memory_bytes
from memory_app.models import MemoryEntry, MemoryStore, MemoryVersion
from tests.memory.conftest import Memory
from tests.support.databases import ON_POSTGRESQL

RULE = {"id": "r1", "pattern": "^GET /health", "kind": "regex", "source": "auto", "enabled": True}


@pytest.mark.parametrize(
    "value", [{"z": 1, "a": [None, True, 1.5, "ü🦊"]}, [], "text", 0, False, None, 12345678901234567890123, {"deep": {"er": {}}}]
)
def test_what_was_put_comes_back_as_it_was(memory: Memory, value: Any) -> None:
    body = json.dumps(value)
    put = memory.put("notes/n1", value)
    assert put.status_code == 201
    got = memory.get("notes/n1")
    assert json.dumps(got.json()["value"]) == body
    assert got["ETag"] == put["ETag"]
    assert memory.get("notes/n1", **{"If-None-Match": got["ETag"]}).status_code == 304


def test_the_whole_memory_comes_as_a_zip_of_the_folder_form(memory: Memory) -> None:
    memory.put("notes/a", {"ü": [1, None]})
    memory.put("notes/damaged", 1)
    MemoryEntry.objects.filter(key="damaged").update(value="{")
    memory.api.post(memory.address("errors"), {"errors": [{"message": "it broke"}]})
    answer = memory.api.get(memory.address("memory-export"))
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/zip")
    content = answer.getvalue()
    assert len(content) == int(answer["Content-Length"])
    with ZipFile(BytesIO(content)) as zipped:
        assert zipped.testzip() is None
        assert sorted(zipped.namelist()) == [f".stillhere/{name}.json" for name in ("errors/history", "meta", "notes/a")]
        assert json.loads(zipped.read(".stillhere/notes/a.json")) == {"ü": [1, None]}
        assert json.loads(zipped.read(".stillhere/meta.json"))["format"] == "stillhere-memory"


def test_an_unknown_key_is_not_found(memory: Memory) -> None:
    assert memory.get("notes/none").status_code == 404
    assert memory.delete("notes/none").status_code == 404
    assert memory.get("notes/none/versions").status_code == 404


def test_keys_are_listed_by_prefix_and_page(memory: Memory) -> None:
    for key in ("b_1", "b_2", "b-3", "bx4", "c"):
        memory.put(f"notes/{key}", {})
    keys = [item["key"] for item in memory.get("notes?prefix=b_").json()["items"]]
    assert keys == ["b_1", "b_2"]
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = memory.get(f"notes?limit=2&cursor={cursor}").json()
        seen += [item["key"] for item in page["items"]]
        cursor = page["next"]
    assert seen == sorted(["b_1", "b_2", "b-3", "bx4", "c"])


@pytest.mark.skipif(not ON_POSTGRESQL, reason="SQLite compares bytes")
def test_a_prefix_is_a_prefix_whatever_order_of_letters_the_database_has(memory: Memory) -> None:
    with connection.cursor() as cursor:
        cursor.execute('ALTER TABLE memory_app_memoryentry ALTER COLUMN key TYPE varchar(128) COLLATE "en-x-icu"')
    for key in ("login_x", "loginy", "Login-z", "log"):
        memory.put(f"notes/{key}", {})
    assert {item["key"] for item in memory.get("notes?prefix=login").json()["items"]} == {"login_x", "loginy"}


def test_a_deleted_key_is_gone_with_its_versions_and_its_bytes(memory: Memory) -> None:
    memory.put("notes/n", {"a": 1})
    assert memory.delete("notes/n").status_code == 204
    assert memory.get("notes/n").status_code == 404
    assert MemoryStore.objects.get().size_bytes == 0
    assert memory.get("notes/n/versions").status_code == 404
    memory.put("notes/n", {"b": 2})
    assert [version["value"] for version in memory.get("notes/n/versions").json()["items"]] == [{"b": 2}]


def test_a_value_may_look_like_one_of_our_bodies(memory: Memory) -> None:
    """In some fields of bodies NUL and the notation of numbers stay; a value has no such fields, alone or in a batch."""
    value = '{"metadata": {"a": "x\\u0000y", "n": 1.50}, "ops": [{"raw": "\\u0000"}]}'
    memory.api.put(memory.address("memory/notes/n"), value)
    put = f'{{"ops": [{{"op": "put", "namespace": "notes", "key": "batch", "value": {value}}}]}}'
    memory.api.post(memory.address("memory/batch"), put)
    stored = set(MemoryEntry.objects.values_list("value", flat=True))
    assert stored == {'{"metadata":{"a":"x\ufffdy","n":1.5},"ops":[{"raw":"\ufffd"}]}'}


def test_compare_and_set(memory: Memory) -> None:
    assert memory.put("notes/n", 1, **{"If-Match": "*"}).status_code == 412
    first = memory.put("notes/n", 1, **{"If-None-Match": "*"})
    assert first.status_code == 201
    assert memory.put("notes/n", 2, **{"If-None-Match": "*"}).status_code == 412
    assert memory.put("notes/n", 2, **{"If-Match": first["ETag"]}).status_code == 200
    late = memory.put("notes/n", 3, **{"If-Match": first["ETag"]})
    assert late.status_code == 412
    assert late.json()["error"]["details"]["etag"] == memory.get("notes/n")["ETag"]
    assert memory.delete("notes/n", **{"If-Match": first["ETag"]}).status_code == 412
    assert memory.get("notes/n").json()["value"] == 2


def test_names_count_for_the_account_as_long_as_they_are_stored(memory: Memory, alice: User) -> None:
    """Not for the quota of the project, which is of values."""
    namespace, key = "n" * 128, "k" * 512
    before = memory_bytes(alice.pk)
    assert memory.put(f"{namespace}/{key}", 1).status_code == 201
    assert memory_bytes(alice.pk) - before >= len(namespace) + len(key) + 1
    assert MemoryStore.objects.get().size_bytes == 1
    assert memory.api.delete(memory.address(f"memory/{namespace}/{key}")).status_code < 300
    assert memory_bytes(alice.pk) - before >= len(namespace) + len(key) + 1


def test_a_recreated_key_never_has_an_old_etag(memory: Memory) -> None:
    old = memory.put("notes/n", 1)["ETag"]
    memory.delete("notes/n")
    memory.put("notes/n", 2)
    assert memory.put("notes/n", 3, **{"If-Match": old}).status_code == 412


def test_ten_versions_are_kept_and_one_can_be_brought_back(memory: Memory) -> None:
    for number in range(12):
        memory.put("notes/n", {"n": number})
    memory.put("notes/n", {"n": 11})
    versions = memory.get("notes/n/versions").json()["items"]
    assert [version["value"]["n"] for version in versions] == list(range(11, 1, -1))
    restored = memory.api.post(memory.address(f"memory/notes/n/versions/{versions[-1]['rev']}/restore"))
    assert restored.json()["value"] == {"n": 2}
    assert restored.json()["rev"] > versions[0]["rev"]
    assert memory.api.post(memory.address("memory/notes/n/versions/999/restore")).status_code == 404


def test_an_entry_has_one_megabyte_and_a_project_its_quota(memory: Memory, settings: Any) -> None:
    settings.PROJECT_BYTES = 2_500_000
    assert memory.put("notes/big", "x" * 999_998).status_code == 201
    assert memory.put("notes/bigger", "x" * 999_999).status_code == 413
    assert memory.put("notes/big2", "y" * 999_998).status_code == 201
    full = memory.put("notes/big3", "z" * 999_998)
    assert (full.status_code, full.json()["error"]["code"]) == (507, "over_quota")
    assert memory.put("notes/big2", "small").status_code == 200
    assert memory.put("notes/big3", "z" * 999_998).status_code == 201
    assert MemoryStore.objects.get().size_bytes == sum(MemoryEntry.objects.values_list("size_bytes", flat=True))


@pytest.mark.parametrize("name", [f"{'n' * 129}/k", f"n/{'k' * 513}", "n/k%00", "%00/k"])
def test_names_that_are_too_long_or_have_nul_are_refused(memory: Memory, name: str) -> None:
    assert memory.put(name, 1).status_code == 422
    assert not MemoryEntry.objects.exists()


@pytest.mark.parametrize(
    "name", [".hidden/k", "n/.k", "a b/k", "n/k%C3%BC", f"{'n' * 128}/{'k' * 512}", "n/k%0A", "~0/~1", "%25/k"]
)
def test_names_may_be_any_text(memory: Memory, name: str) -> None:
    put = memory.put(name, 1)
    assert put.status_code == 201
    got = memory.get(name).json()
    named = unquote(name).split("/")
    assert [got["namespace"], got["key"]] == [put.json()["namespace"], put.json()["key"]] == named
    assert memory.delete(name).status_code == 204


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("baselines/login", [1]),
        ("api_schema/schema", {"endpoints": {}}),
        ("noise/config", []),
        ("noise/config", {"rules": [{**RULE, "kind": "glob"}]}),
        ("noise/config", {"rules": [{**RULE, "source": "other"}]}),
        ("noise/config", {"rules": [{**RULE, "enabled": 1}]}),
        ("noise/config", {"rules": [{**RULE, "pattern": ""}]}),
        ("noise/config", {"rules": [{**RULE, "pattern": "(a"}]}),
        ("noise/config", {"rules": [{**RULE, "pattern": "(?=a)b"}]}),
        ("noise/config", {"rules": ["x"]}),
    ],
)
def test_known_namespaces_have_a_shape(memory: Memory, key: str, value: Any) -> None:
    refused = memory.put(key, value)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "wrong_shape")


def test_the_right_shapes_are_taken(memory: Memory) -> None:
    for key, value in {
        "baselines/login": {"ms": 3},
        "api_schema/schema": {"endpoints": []},
        "noise/config": {"rules": [RULE]},
    }.items():
        assert memory.put(key, value).status_code == 201


@pytest.mark.parametrize("key", ["errors/history", "performance/endpoints"])
def test_generated_keys_are_not_written(memory: Memory, key: str) -> None:
    for refused in (memory.put(key, {}), memory.delete(key)):
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "generated")


def test_secrets_do_not_reach_the_store(memory: Memory) -> None:
    put = memory.put("notes/n", {"headers": {"Authorization": "Bearer abc"}, "n": 1})
    assert put.json()["redacted"] == {"authorization": 1}
    assert "abc" not in MemoryEntry.objects.get().value + MemoryVersion.objects.get().value


def test_stats_and_namespaces_count_what_is_there(memory: Memory) -> None:
    memory.put("baselines/login", {})
    memory.put("baselines/home", {})
    memory.put("notes/n", "abc")
    stats = memory.api.get(memory.address("memory-stats")).json()
    assert stats["entries"] == {"baselines": 2, "notes": 1}
    assert stats["size_bytes"] == 9
    assert stats["session_count"] == 1
    assert memory.api.get(memory.address("memory")).json()["items"][0] == {
        "namespace": "baselines", "labels": ["baselines"], "count": 2, "size_bytes": 4,
    }  # fmt: skip


def test_a_change_is_told_without_its_content(memory: Memory) -> None:
    memory.put("notes/n", "between us")
    events = memory.api.get(memory.address("events?since=0")).json()["items"]
    assert [event["type"] for event in events] == ["MEMORY_CHANGED"]
    assert events[0]["data"] == {"namespace": "notes", "key": "n", "rev": 1, "deleted": False}
    assert "between us" not in json.dumps(events)


def test_memory_is_its_project_s_alone(memory: Memory, api: Callable[..., Any], bob: User) -> None:
    memory.put("notes/n", 1)
    other = Memory(api(bob), "other")
    assert other.get("notes/n").status_code == 404
    assert other.api.get(memory.address("memory/notes/n")).status_code == 404
    assert other.api.put(memory.address("memory/notes/n"), 2).status_code == 404
    assert memory.get("notes/n").json()["value"] == 1
