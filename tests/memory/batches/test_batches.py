"""Batches: one transaction, each operation sees those before it, and few statements however many there are."""

import base64
import json
import time
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory_app.key_value.batches import queries
from memory_app.models import DeletedEntry, MemoryEntry, MemoryStore, MemoryVersion
from tests.memory.batches.conftest import done, run
from tests.memory.conftest import Memory
from tests.memory.test_races import WRITERS, at_once

PATH = ["users", "1"]


def put(key: str, value: Any, namespace: Any = PATH, **more: Any) -> dict[str, Any]:
    return {"op": "put", "namespace": namespace, "key": key, "value": value, **more}


def get(key: str, namespace: Any = PATH) -> dict[str, Any]:
    return {"op": "get", "namespace": namespace, "key": key}


def delete(key: str, namespace: Any = PATH, **more: Any) -> dict[str, Any]:
    return {"op": "delete", "namespace": namespace, "key": key, **more}


def listed(namespace: Any = PATH, **more: Any) -> dict[str, Any]:
    return {"op": "list", "namespace": namespace, **more}


def keys(result: Any) -> list[str]:
    return [item["key"] for item in result["items"]]


def test_each_operation_sees_what_those_before_it_did(memory: Memory) -> None:
    results = done(
        memory, get("a"), put("a", 1), get("a"), put("a", 2), listed(values=True), delete("a"), get("a"), delete("a"),
        put("a", 3), listed(), {"op": "purge", "namespace": PATH, "key": "a"}, listed(),
    )  # fmt: skip
    assert results[0] == results[6] == {"entry": None}
    assert (results[1]["created"], results[3]["created"], results[8]["created"]) == (True, False, True)
    assert results[2]["entry"]["value"] == 1
    assert [item["value"] for item in results[4]["items"]] == [2]
    assert (results[5], results[7]) == ({"deleted": True}, {"deleted": False})
    assert (keys(results[9]), results[10], keys(results[11])) == (["a"], {"purged": 1}, [])
    assert not MemoryEntry.objects.exists()
    assert not MemoryVersion.objects.exists()
    assert MemoryStore.objects.get().size_bytes == 0


def test_a_batch_and_single_calls_mean_the_same_entry(memory: Memory) -> None:
    [made] = done(memory, put("n", {"a": 1}, "notes"))
    single = memory.get("notes/n")
    assert (single["ETag"], single.json()["rev"]) == (made["etag"], made["rev"])
    memory.put("notes/n", {"a": 2})
    [read] = done(memory, get("n", ["notes"]))
    assert (read["entry"]["value"], read["entry"]["namespace"]) == ({"a": 2}, "notes")
    assert len(memory.get("notes/n/versions").json()["items"]) == 2


def test_every_value_in_between_is_a_version(memory: Memory) -> None:
    done(memory, *(put("n", number, "notes") for number in range(12)))
    versions = memory.get("notes/n/versions").json()["items"]
    assert [version["value"] for version in versions] == list(range(11, 1, -1))


@pytest.mark.parametrize(
    ("op", "status"),
    [
        (put("a", 2, if_match='"1.99"'), 412),
        (put("a", 2, if_match=None), 412),
        (put("none", 2, if_match="*"), 412),
        (delete("a", if_match='"1.99"'), 412),
        (delete("none", if_match="*"), 412),
        (put("history", 1, "errors"), 409),
        (delete("history", "errors"), 409),
        (put("config", [], "noise"), 422),
        (put("k", 1, [*"abcdefghij", "k"]), 422),
        (put("k", "x" * 1_000_001), 413),
        (put("k" * 513, 1), 422),
        (put("k", 1, ["a", ""]), 422),
        (put("k", 1, []), 422),
        (put("k", 1, ["x" * 129]), 422),
        (put("k", 1, ["😀" * 128] * 6), 422),
        (listed([]), 422),
        (listed(filter={"a": {"$like": 1}}), 422),
        (listed(filter={"a": {"$gt": None}}), 422),
        (listed(cursor="nonsense"), 422),
        (listed(limit=501), 422),
        ({"op": "purge", "namespace": PATH, "key": "a", "deep": True}, 422),
        ({"op": "burn", "namespace": PATH}, 422),
    ],
)
def test_if_one_is_refused_nothing_is_done(memory: Memory, op: dict[str, Any], status: int) -> None:
    done(memory, put("a", 1))
    refused = run(memory, put("b", 1), op, delete("a"))
    assert refused.status_code == status, refused.content
    details = refused.json()["error"]["details"]
    assert details.get("index", 1) == 1
    assert "index" in details or details["fields"][0]["field"].startswith("ops.1")
    assert keys(done(memory, listed())[0]) == ["a"]
    assert MemoryStore.objects.get().rev == 1


def test_a_condition_that_holds_lets_it_pass(memory: Memory) -> None:
    [first] = done(memory, put("a", 1, if_match=None))
    [second] = done(memory, put("a", 2, if_match=first["etag"]))
    assert second["rev"] > first["rev"]
    assert done(memory, delete("a", if_match="*")) == [{"deleted": True}]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"n": 1}, ["a", "b"]),
        ({"n": {"$eq": 1.0}}, ["a", "b"]),
        ({"n": {"$ne": 1}}, ["c", "d", "e"]),
        ({"n": {"$gt": 1}}, ["c"]),
        ({"n": {"$gte": 1, "$lt": 2}}, ["a", "b"]),
        ({"t": {"$lte": "b"}}, ["a"]),
        ({"o.p": True}, ["b"]),
        ({"o": {"p": True}}, ["b"]),
        ({"dotted.name": 1}, ["d"]),
        ({"n": True}, ["d"]),
        ({"n": None}, ["e"]),
        ({"n": 1, "o.p": True}, ["b"]),
    ],
)
def test_lists_are_filtered_by_fields(memory: Memory, wanted: dict[str, Any], found: list[str]) -> None:
    values = {
        "a": {"n": 1, "t": "a"}, "b": {"n": 1, "o": {"p": True}}, "c": {"n": 2.5, "t": "c"}, "d": {"n": True, "dotted.name": 1},
        "e": [],
    }  # fmt: skip
    done(memory, *(put(key, value) for key, value in values.items()))
    assert keys(done(memory, listed(filter=wanted))[0]) == found
    assert keys(done(memory, listed(filter=wanted, offset=1, values=True))[0]) == found[1:]


@pytest.mark.parametrize("order", ["key", "-key", "updated", "-updated"])
@pytest.mark.parametrize("more", [{}, {"filter": {"n": {"$gte": 0}}}])
def test_pages_of_a_list_have_every_entry_once_and_in_order(memory: Memory, order: str, more: dict[str, Any]) -> None:
    for number in (3, 0, 4, 1, 2):
        done(memory, *(put(f"k{number}", {"n": number}, path) for path in (PATH, [*PATH, "x"])))
        time.sleep(0.002)  # Times have milliseconds.
    [whole] = done(memory, listed(["users"], deep=True, order=order, **more))
    assert len(whole["items"]) == 10
    seen, cursor = list[Any](), None
    while cursor is not None or not seen:
        [page] = done(memory, listed(["users"], deep=True, order=order, limit=3, cursor=cursor, **more))
        seen += page["items"]
        cursor = page["next"]
    assert seen == whole["items"]
    expected = {"key": ["0", "1"], "-key": ["4", "3"], "updated": ["3", "3"], "-updated": ["2", "2"]}
    assert [item["key"][1] for item in seen][:2] == expected[order]


def test_a_list_is_of_one_namespace_or_of_all_beneath_it(memory: Memory) -> None:
    for namespace in ("a", "a-b", ["a", "b"], ["a", "b", "c"], ["a/b"], "b"):
        done(memory, put("k", 1, namespace))
    seen = [item["namespace"] for item in done(memory, listed("a", deep=True))[0]["items"]]
    assert seen == ["a", ["a", "b"], ["a", "b", "c"]]
    assert [item["namespace"] for item in done(memory, listed(["a/b"]))[0]["items"]] == ["a/b"]
    assert len(done(memory, listed([], deep=True))[0]["items"]) == 6
    assert done(memory, {"op": "purge", "namespace": ["a", "b"], "deep": True}) == [{"purged": 2}]
    assert done(memory, {"op": "purge", "namespace": "a", "prefix": "x", "deep": True}) == [{"purged": 0}]


def test_a_purge_leaves_nothing_in_the_trash(memory: Memory) -> None:
    done(memory, put("a", 1), put("b", 1), put("c", 1, "other"))
    done(memory, delete("a"), delete("c", "other"))
    assert done(memory, {"op": "purge", "namespace": PATH}) == [{"purged": 1}]
    assert [entry.key for entry in DeletedEntry.objects.all()] == ["c"]
    assert MemoryVersion.objects.count() == 1


def test_a_namespace_is_purged_with_all_beneath_it(memory: Memory) -> None:
    done(memory, put("a", 1, "users"), put("b", 1, ["users", "1"]), put("c", 1, "users-of-old"))
    assert memory.delete("users").status_code == 428
    answer = memory.delete("users?purge=1")
    assert (answer.status_code, answer.json()) == (200, {"purged": 2})
    assert [entry.namespace for entry in MemoryEntry.objects.all()] == ["users-of-old"]
    assert MemoryStore.objects.get().size_bytes == 1


def test_a_namespace_called_batch_is_reached_as_before(memory: Memory) -> None:
    memory.put("batch/k", 1)
    assert keys(memory.get("batch").json()) == ["k"]
    assert memory.get("batch/k").json()["value"] == 1
    assert memory.delete("batch?purge=1").json() == {"purged": 1}


def test_the_lease_holds_batches_off_too_but_not_their_reads(memory: Memory) -> None:
    started = memory.start()
    assert run(memory, put("a", 1)).status_code == 423
    assert run(memory, get("a"), listed()).status_code == 200
    assert run(memory, put("a", 1), **{"Stillhere-Run": started["run_id"]}).status_code == 200
    assert run(memory, put("a", 1), **{"Stillhere-Run": "x"}).status_code == 422


def test_no_secret_is_stored_by_a_batch(memory: Memory) -> None:
    [result] = done(memory, put("a", {"Authorization": "Bearer abcdefghijklmnop", "n": 1}))
    assert result["redacted"] == {"authorization": 1}
    assert "abcdef" not in MemoryEntry.objects.get().value + MemoryVersion.objects.get().value


def test_names_with_nul_are_refused_and_values_with_it_are_stored_replaced(memory: Memory) -> None:
    for op in (put("a\0", 1), put("a", 1, ["b\0"]), put("a", 1, "b\0"), listed(prefix="\0")):
        assert run(memory, op).status_code == 422
    done(memory, put("a", "x\0y"))
    assert done(memory, get("a"))[0]["entry"]["value"] == "x\ufffdy"


def test_one_event_tells_of_a_batch(memory: Memory) -> None:
    done(memory, *(put(f"k{number}", 1) for number in range(30)))
    done(memory, put("a", 1))
    first, second = (event["data"] for event in memory.api.get(memory.address("events?since=0")).json()["items"])
    assert (first["count"], len(first["entries"]), first["rev"]) == (30, 20, 30)
    assert second == {"namespace": PATH, "key": "a", "rev": 31, "deleted": False}


def test_a_batch_reads_no_more_than_its_budget(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "READ_BYTES", 250)
    done(memory, put("a", "x" * 98), put("b", "x" * 98))
    assert run(memory, get("a"), get("b")).status_code == 200
    for ops in ([get("a")] * 3, [listed(values=True)] * 2, [listed(filter={"n": 1})] * 2):
        refused = run(memory, *ops)
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_much_read")
    assert run(memory, *[listed()] * 5).status_code == 200


def test_values_above_the_budget_are_not_read(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    done(memory, put("a", "x" * 98))
    monkeypatch.setattr(queries, "READ_BYTES", 250)
    with CaptureQueriesContext(connection) as captured:
        assert run(memory, *(listed(values=True, limit=number) for number in range(1, 4))).status_code == 413
    assert not [query for query in captured if "key, value" in query["sql"] and "LIMIT" in query["sql"]]


def test_a_filter_reads_each_value_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "LOOKED_AT", 2)
    done(memory, *(put(f"k{number}", {"n": number}) for number in range(7)))
    for order in ("key", "-key", "updated", "-updated"):
        found = keys(done(memory, listed(filter={"n": {"$gte": 0}}, order=order, offset=1, limit=5))[0])
        assert found == (["k5", "k4", "k3", "k2", "k1"] if order == "-key" else ["k1", "k2", "k3", "k4", "k5"])
    monkeypatch.setattr(queries, "READ_BYTES", 7 * queries.LEAST_BYTES)
    assert run(memory, listed(filter={"n": -1})).status_code == 200
    assert run(memory, listed(filter={"n": -1}), listed(filter={"n": -2})).status_code == 413
    pages = [listed(filter={"n": {"$gt": 0}}, limit=2, offset=offset) for offset in (0, 2, 4, 6)]
    assert [keys(page) for page in done(memory, *pages)] == [["k1", "k2"], ["k3", "k4"], ["k5", "k6"], []]
    assert run(memory, *pages[1:], pages[2]).status_code == 413


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-01-01T00:00:00"])
def test_a_cursor_of_another_time_is_refused(memory: Memory, at: str) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps([at, "n", "k"]).encode()).decode().rstrip("=")
    assert run(memory, listed(order="updated", cursor=cursor)).status_code == 422


def test_a_full_memory_refuses_the_whole_batch(memory: Memory, settings: Any) -> None:
    settings.PROJECT_BYTES = 1_000
    refused = run(memory, put("a", "x" * 498), put("b", "x" * 498), put("c", "x"))
    assert (refused.status_code, refused.json()["error"]["code"]) == (507, "over_quota")
    assert refused.json()["error"]["details"]["index"] == 2
    assert not MemoryEntry.objects.exists()


def test_eight_batches_on_one_key_lose_no_update(shared: Memory) -> None:
    done(shared, put("n", 0), put("sum", 0))

    def count_up(number: int) -> None:
        for _ in range(3):
            while True:
                entry = done(shared, get("n"))[0]["entry"]
                answer = run(shared, put(f"of-{number}", entry["rev"]), put("n", entry["value"] + 1, if_match=entry["etag"]))
                if answer.status_code == 200:
                    break
                assert answer.status_code == 412
                assert json.loads(answer.content)["error"]["details"]["index"] == 1

    at_once(count_up)
    assert done(shared, get("n"))[0]["entry"]["value"] == WRITERS * 3
