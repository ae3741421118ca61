"""Paths of labels: their stored form, lists of them, pages, folders, and the index that answers their prefixes."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from memory_app.core.namespaces import after_prefix, as_sent, beneath, labels_of, pack
from memory_app.core.page_addresses import KeyConverter, NamespaceConverter
from memory_app.key_value.batches.operations import List, Order
from memory_app.key_value.batches.queries import _statement
from memory_app.models import MemoryEntry, MemoryVersion
from memory_app.portability.folder.folder_format import LONG, file_of, place_of, unwrapped
from sessions_app.core.storage.sql import fetch_rows, on_postgresql
from sessions_app.models.times import now
from tests.memory.batches.conftest import done, run, set_namespace
from tests.memory.conftest import Memory

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufffd"), min_size=1, max_size=8)
HARD = st.text("~/.+01%2 a", min_size=1, max_size=6)
LABELS = st.lists(TEXT | HARD, min_size=1, max_size=4)


def put(memory: Memory, *paths: Any) -> None:
    done(memory, *({"op": "put", "namespace": path, "key": "k", "value": 1} for path in paths))


@pytest.mark.once
@given(labels=LABELS, others=LABELS)
def test_a_stored_form_is_of_one_path_alone(labels: list[str], others: list[str]) -> None:
    stored, other = pack(labels), pack(others)
    assert labels_of(stored) == labels
    assert (stored == other) == (labels == others)
    assert as_sent(stored) == (labels[0] if len(labels) == 1 else labels)
    first, end = beneath(other)
    inside = first.encode() <= stored.encode() < end.encode()
    assert inside == (len(labels) > len(others) and labels[: len(others)] == others)


def test_names_with_any_characters_are_found_again(memory: Memory) -> None:
    names = ['"', "\\", '\\"', "\\u0041", "\n", "\t\x01", "'", "%s", "{}", "[0]", "$.a", "é", "\u2028", "\U0001f600", "~0", "a/b"]
    ops = [{"op": "put", "namespace": [one, other], "key": one, "value": 1} for one in names for other in (one, "a")]
    assert all(result["created"] for result in done(memory, *ops))
    assert not any(result["created"] for result in done(memory, *({**op, "value": 2} for op in ops)))


@pytest.mark.once
@given(prefix=TEXT, text=TEXT)
def test_a_prefix_is_a_range_of_bytes(prefix: str, text: str) -> None:
    end = after_prefix(prefix)
    inside = prefix.encode() <= text.encode() and (end is None or text.encode() < end.encode())
    assert inside == text.startswith(prefix)


@pytest.mark.once
@given(labels=LABELS, key=TEXT | HARD)
def test_names_survive_addresses_of_pages_and_names_of_files(labels: list[str], key: str) -> None:
    namespace = pack(labels)
    for converter, value in ((NamespaceConverter(), namespace), (KeyConverter(), key)):
        segment = converter.to_url(value)
        assert "/" not in segment
        assert segment not in {".", ".."}
        assert converter.to_python(segment) == value
    folder, name, content = file_of(namespace, key, b"1")
    if folder == LONG:
        assert unwrapped(json.loads(content)) == (namespace, key, 1)
    else:
        assert place_of(folder, name.removesuffix(".json")) == (namespace, key)
        assert not {"/", "\\", "\n"} & set(folder + name)
        assert not folder.startswith(".")


def test_one_label_is_stored_as_it_always_was(memory: Memory) -> None:
    memory.put("notes.of-me_1/k", 1)
    put(memory, ["users", "1"], ["a/b", "c~d"])
    assert sorted(MemoryEntry.objects.values_list("namespace", flat=True)) == ["a~1b/c~0d", "notes.of-me_1", "users/1"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["a", "a-b", ["a", "b"], ["a", "b", "c"], ["a", "x", "c"], "b"]),
        ("prefix=a", ["a", ["a", "b"], ["a", "b", "c"], ["a", "x", "c"]]),
        ("prefix=a/b", [["a", "b"], ["a", "b", "c"]]),
        ("prefix=a/*/c", [["a", "b", "c"], ["a", "x", "c"]]),
        ("prefix=*/b", [["a", "b"], ["a", "b", "c"]]),
        ("suffix=c", [["a", "b", "c"], ["a", "x", "c"]]),
        ("suffix=b/*", [["a", "b", "c"]]),
        ("prefix=a&suffix=b", [["a", "b"]]),
        ("depth=1", ["a", "a-b", "b"]),
        ("prefix=a&depth=2", ["a", ["a", "b"], ["a", "x"]]),
        ("prefix=none", []),
    ],
)
def test_namespaces_are_listed_by_prefix_suffix_and_depth(memory: Memory, query: str, found: list[Any]) -> None:
    put(memory, "a", ["a", "b"], ["a", "b", "c"], ["a", "x", "c"], "b", "a-b")
    items = memory.api.get(memory.address(f"memory?{query}")).json()["items"]
    assert [item["namespace"] for item in items] == found
    assert [item["labels"] for item in items] == [[name] if isinstance(name, str) else name for name in found]
    assert sum(item["count"] for item in items) == (6 if query in {"", "depth=1"} else sum(item["count"] for item in items))
    seen: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        page = memory.api.get(memory.address(f"memory?{query}&limit=2&cursor={cursor}")).json()
        seen, cursor = [*seen, *page["items"]], page["next"]
    assert seen == items


@pytest.mark.parametrize("query", ["depth=0", "depth=11", "limit=0", "depth=x"])
def test_lists_of_namespaces_have_bounds(memory: Memory, query: str) -> None:
    assert memory.api.get(memory.address(f"memory?{query}")).status_code == 422


def test_pages_show_paths_and_reach_every_name(memory: Memory, alice: User) -> None:
    labels, key = ["users", "a / b~", "..", "ü"], "./any <key>?"
    done(memory, {"op": "put", "namespace": labels, "key": key, "value": {"words": "shown"}})
    person = Client()
    person.force_login(alice)
    page = person.get(f"/projects/{memory.project}/memory/").content.decode()
    assert "users / a / b~ / .. / ü" in page
    namespace = pack(labels)
    keys = reverse("memory_keys", args=[memory.project, namespace])
    assert keys in page
    assert "./any &lt;key&gt;?" in person.get(keys).content.decode()
    entry = reverse("memory_entry", args=[memory.project, namespace, key])
    shown = person.get(entry).content.decode()
    assert "shown" in shown
    assert "Raw JSON" not in shown
    assert person.post(f"{entry}edit/", {"value": "2", "match": ""}).status_code == 412
    assert person.post(f"{entry}delete/").status_code == 302
    assert not MemoryEntry.objects.exists()
    made = {"namespace": "users / 1", "key": "k", "value": "3"}
    assert person.post(f"/projects/{memory.project}/memory-new/", made).status_code == 302
    assert MemoryEntry.objects.get().namespace == "users/1"


def test_a_folder_has_paths_and_settings_and_brings_them_back(memory: Memory, path: str, tmp_path: Path) -> None:
    long = ["x" * 128, "y" * 128]
    values = {"Authorization": "Bearer abcdefghijklmnop", "nul": "a\0b"}
    set_namespace(memory, "exact", exact=True)
    for namespace in (["exact", "a/b", ".."], long, "plain"):
        done(memory, {"op": "put", "namespace": namespace, "key": "./k", "value": values if namespace[0] == "exact" else 1})
    call_command("memory_export", project=path, to=tmp_path / "out", verbosity=0)
    assert (tmp_path / "out" / "plain" / "%2E%2Fk.json").read_text() == "1\n"
    everything = {"op": "list", "namespace": [], "deep": True, "values": True}
    before = [[item["namespace"], item["key"], item["value"]] for item in done(memory, everything)[0]["items"]]
    memory.api.delete(memory.address("memory-settings/exact"))
    MemoryVersion.objects.all().delete()
    MemoryEntry.objects.all().delete()
    call_command("memory_import", project=path, folder=tmp_path / "out", verbosity=0)
    assert [[item["namespace"], item["key"], item["value"]] for item in done(memory, everything)[0]["items"]] == before
    assert memory.api.get(memory.address("memory-settings/exact")).json()["exact"] is True


def test_the_index_answers_prefixes(memory: Memory) -> None:
    """On a table that is large enough for PostgreSQL to want an index."""
    rows = (
        MemoryEntry(
            project_id=memory.project, namespace=f"users/{number % 100}", key=f"k{number}", value="1", rev=1, size_bytes=1
        )
        for number in range(3_000)
    )
    MemoryEntry.objects.bulk_create(rows)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memory_app_memoryentry")
    for asked in (
        List("users/7", deep=True, order=Order.KEY, limit=5),
        List("users/7", prefix="k1", order=Order.KEY, limit=5),
    ):
        statement, parameters = _statement(memory_project(memory), asked, now(), 6, 0)
        explain = "EXPLAIN " if on_postgresql() else "EXPLAIN QUERY PLAN "
        plan = "\n".join(str(line) for line in fetch_rows(explain + statement, parameters))
        assert ("memory_key_once" in plan) or ("sqlite_autoindex_memory_app_memoryentry" in plan), plan
        assert "namespace" in plan, plan
        assert "TEMP B-TREE" not in plan
        assert "Seq Scan" not in plan


def memory_project(memory: Memory) -> Any:
    return MemoryEntry.objects.filter(project_id=memory.project).values_list("project_id", flat=True)[0]


def test_names_that_are_stored_have_no_sign_of_what_was_unreadable(memory: Memory) -> None:
    """A body and an address refuse the same; what was stored before is still read and deleted."""
    for namespace, key in (("n", "\ufffdk"), ("a\ufffd", "k")):
        op = {"op": "put", "namespace": namespace, "key": key, "value": 1}
        assert run(memory, op).json()["error"]["details"] == {"field": "key", "index": 0}
        assert memory.put(f"{quote(namespace)}/{quote(key)}", 1).status_code == 422
        run_id = memory.start()["run_id"]
        assert memory.run(run_id, "end", {"entries": [{"namespace": namespace, "key": key, "value": 1}]}).status_code == 422
        memory.run(run_id, "end", {})
    assert set_namespace(memory, quote("a\ufffd")).status_code == 422
    memory.put("n/k", 1)
    MemoryEntry.objects.update(key="\ufffdk")
    assert memory.get("n/%EF%BF%BDk").json()["value"] == 1
    assert done(memory, {"op": "delete", "namespace": "n", "key": "\ufffdk"}) == [{"deleted": True}]
