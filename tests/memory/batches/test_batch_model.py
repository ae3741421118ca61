"""Random operations mean the same as a batch, as single calls, and to a plain dictionary."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_app.key_value.batches.filters import make_filter, same
from memory_app.models import MemoryEntry, MemoryStore
from tests.memory.batches.conftest import done, run
from tests.memory.conftest import Memory

# One label, so that single calls reach them too; one begins like the other.
NAMESPACES, KEYS = ("a", "a-b", "a0"), ("k", "kk", "l")
PLACES = st.fixed_dictionaries({"namespace": st.sampled_from(NAMESPACES), "key": st.sampled_from(KEYS)})
VALUES = st.fixed_dictionaries({"n": st.integers(0, 3)}, optional={"t": st.text("ab", max_size=2)})
FILTERS = st.one_of(
    st.none(), st.fixed_dictionaries({"n": st.fixed_dictionaries({"$gte": st.integers(0, 3)})}), st.just({"t": {"$ne": "a"}})
)
OPS = st.lists(
    st.one_of(
        st.builds(lambda place: {"op": "get", **place}, PLACES),
        st.builds(
            lambda place, value, more: {"op": "put", **place, "value": value, **more},
            PLACES,
            VALUES,
            st.sampled_from([{}, {}, {"if_match": "*"}, {"if_match": None}]),
        ),
        st.builds(lambda place, more: {"op": "delete", **place, **more}, PLACES, st.sampled_from([{}, {}, {"if_match": "*"}])),
        st.builds(lambda place: {"op": "purge", **place}, PLACES),
        st.builds(lambda namespace, prefix: {"op": "purge", "namespace": namespace, "prefix": prefix},
                  st.sampled_from(NAMESPACES), st.sampled_from(["", "k", "kk"])),
        st.builds(
            lambda namespace, deep, prefix, fields, limit, offset, order: {
                "op": "list", "namespace": namespace, "deep": deep, "prefix": prefix, "filter": fields, "limit": limit,
                "offset": offset, "order": order, "values": True,
            },
            st.sampled_from(NAMESPACES), st.booleans(), st.sampled_from(["", "k", "kk"]), FILTERS, st.integers(1, 4),
            st.integers(0, 2), st.sampled_from(["key", "-key"]),
        ),
    ),
    max_size=14,
)  # fmt: skip


class Refused(Exception):
    """By a condition."""


def by_model(store: dict[tuple[str, str], Any], op: dict[str, Any]) -> Any:
    """What an operation means to a dictionary."""
    place = (op["namespace"], op.get("key", ""))
    if "if_match" in op and (op["if_match"] == "*") != (place in store):
        raise Refused
    if op["op"] == "get":
        return store.get(place)
    if op["op"] == "put":
        made = place not in store
        store[place] = op["value"]
        return made
    if op["op"] == "delete":
        return store.pop(place, None) is not None
    if op["op"] == "purge":
        gone = [place for place in store if place[0] == op["namespace"] and _purged(op, place[1])]
        return len([store.pop(p) for p in gone])
    matches = make_filter(op["filter"] or {}).matches
    found = [p for p in sorted(store) if p[0] == op["namespace"] and p[1].startswith(op["prefix"]) and matches(store[p])]
    found = found[::-1] if op["order"] == "-key" else found
    return [[key, store[namespace, key]] for namespace, key in found[op["offset"] : op["offset"] + op["limit"]]]


def _purged(op: dict[str, Any], key: str) -> bool:
    return key == op["key"] if "key" in op else key.startswith(op["prefix"])


def of_result(op: dict[str, Any], result: dict[str, Any]) -> Any:
    if op["op"] == "get":
        return result["entry"] and result["entry"]["value"]
    if op["op"] == "list":
        return [[item["key"], item["value"]] for item in result["items"]]
    return result[{"put": "created", "delete": "deleted", "purge": "purged"}[op["op"]]]


def by_single_call(memory: Memory, op: dict[str, Any]) -> Any:
    """The same by the address of the entry; what only batches do, by a batch of one."""
    name = f"{op['namespace']}/{op.get('key', '')}"
    condition = {} if "if_match" not in op else {"If-None-Match": "*"} if op["if_match"] is None else {"If-Match": "*"}
    if op["op"] == "get":
        answer = memory.get(name)
        return answer.json()["value"] if answer.status_code == 200 else None
    if op["op"] in {"put", "delete"}:
        answer = memory.put(name, op["value"], **condition) if op["op"] == "put" else memory.delete(name, **condition)
        if answer.status_code == 412:
            raise Refused
        return answer.status_code in ({201} if op["op"] == "put" else {204})
    return of_result(op, done(memory, op)[0])


def contents(memory: Memory) -> list[Any]:
    rows = MemoryEntry.objects.filter(project_id=memory.project).order_by("namespace", "key")
    return [(row.namespace, row.key, row.value, row.versions.count()) for row in rows]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ops=OPS)
@pytest.mark.timeout(400)
def test_a_batch_is_its_operations_one_after_the_other(memory: Memory, ops: list[dict[str, Any]]) -> None:
    for each in (memory, other := Memory(memory.api, "the same by single calls")):
        done(each, {"op": "purge", "namespace": [], "deep": True})
    model: dict[tuple[str, str], Any] = {}
    try:
        expected = [by_model(model, op) for op in ops]
    except Refused:
        refused = run(memory, *ops)
        assert refused.status_code == 412
        assert contents(memory) == []
        return
    assert [of_result(op, result) for op, result in zip(ops, done(memory, *ops), strict=True)] == expected
    assert [by_single_call(other, op) for op in ops] == expected
    assert contents(memory) == contents(other)
    assert {(namespace, key) for namespace, key, _, _ in contents(memory)} == model.keys()
    for store in MemoryStore.objects.all():
        assert store.size_bytes == sum(MemoryEntry.objects.filter(project=store.project_id).values_list("size_bytes", flat=True))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3), max_leaves=5
)


@pytest.mark.once
@given(one=JSON, other=JSON)
def test_equality_tells_true_from_one(one: Any, other: Any) -> None:
    assert same(one, one)
    assert same(one, other) == (repr(one) == repr(other))
