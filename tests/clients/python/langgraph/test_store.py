"""The store beside LangGraph's own in memory."""

import asyncio
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from stillhere import Client, StillhereError
from stillhere.langgraph import StillhereStore
from tests.support.live_server import LiveServer

SECRET = {"token": "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789", "nul": "a\0b", "n": 10**30}
labels = st.sampled_from(["a", "b", "users", "x/y", "~", "中"])
kinds, paths = st.sampled_from(["prefix", "suffix"]), st.lists(labels | st.just("*"), min_size=1, max_size=2).map(tuple)
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)
values = st.fixed_dictionaries({"n": st.integers(-3, 3), "colour": st.sampled_from(["red", "blue"])})
conditions = st.fixed_dictionaries(
    {}, optional={"n": st.fixed_dictionaries({"$gte": st.integers(-3, 3)}), "colour": st.just("red")}
)
NO_MORE: dict[str, Any] = {"offset": st.just(0), "query": st.none(), "refresh_ttl": st.just(True)}
operations = st.one_of(
    st.builds(GetOp, namespace=namespaces, key=st.sampled_from("kl"), refresh_ttl=st.just(True)),
    st.builds(PutOp, namespace=namespaces, key=st.sampled_from("kl"), value=st.none() | values, index=st.none(), ttl=st.none()),
    st.builds(SearchOp, namespace_prefix=namespaces, filter=conditions, limit=st.just(100), **NO_MORE),
    st.builds(
        ListNamespacesOp,
        match_conditions=st.lists(st.builds(MatchCondition, match_type=kinds, path=paths), max_size=2).map(tuple),
        max_depth=st.none() | st.integers(1, 3),
        limit=st.integers(1, 5),
        offset=st.just(0),
    ),
)  # fmt: skip


def comparable(result: Any) -> Any:
    """A search has no order that the two stores share."""
    if isinstance(result, list):
        return sorted(map(str, map(comparable, result)))
    return (result.namespace, result.key, result.value) if hasattr(result, "namespace") else result


def answers_in_memory(theirs: InMemoryStore, batch: list[Any]) -> list[Any]:
    """Namespaces are listed before the batch and without those that are empty: a read of one makes it, a delete leaves it."""
    for namespace in [name for name, entries in theirs._data.items() if not entries]:
        del theirs._data[namespace]
    listed = [theirs.batch([op])[0] if isinstance(op, ListNamespacesOp) else None for op in batch]
    return [result if namespaces is None else namespaces for namespaces, result in zip(listed, theirs.batch(batch), strict=True)]


def forget(store: BaseStore) -> None:
    found = store.search((), limit=1_000)
    store.batch([PutOp(item.namespace, item.key, None) for item in found])


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(operations, max_size=8), max_size=4))
def test_batches_answer_as_the_store_in_memory_does(store: StillhereStore, batches: list[list[Any]]) -> None:
    forget(store)
    theirs = InMemoryStore()
    for batch in batches:
        expected = [comparable(result) for result in answers_in_memory(theirs, batch)]
        found = [comparable(result) for result in store.batch(batch)]
        assert [each or None for each in found] == [each or None for each in expected]


def test_values_are_exact_and_their_times_too(store: StillhereStore) -> None:
    store.put(("users", "1"), "k", SECRET)
    first = store.get(("users", "1"), "k")
    assert first is not None
    assert (first.value, first.namespace, first.key) == (SECRET, ("users", "1"), "k")
    store.put(("users", "1"), "k", {"other": 1})
    second = store.get(("users", "1"), "k")
    assert second is not None
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at
    store.delete(("users", "1"), "k")
    assert store.get(("users", "1"), "k") is None


def test_pages_of_a_search(store: StillhereStore) -> None:
    store.batch([PutOp(("many",), f"k{number:04}", {"n": number}) for number in range(620)])
    assert len(store.search(("many",), limit=600)) == 600
    assert len(store.search(("many",), limit=600, offset=100)) == 520
    assert {item.value["n"] for item in store.search(("many",), filter={"n": {"$lt": 3}})} == {0, 1, 2}


def test_a_search_for_all_items_there_may_be(store: StillhereStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads each of them once: else the 50 MB that one request reads would be all of these 3 MB many times."""
    store.batch([PutOp(("all",), f"k{number:04}", {"n": number, "text": "x" * 5_000}) for number in range(600)])
    for limit in (10_000, sys.maxsize):
        assert [item.key for item in store.search(("all",), filter={"n": 5}, limit=limit)] == ["k0005"]
        assert len({item.key for item in store.search(("all",), limit=limit, offset=10)}) == 590
    monkeypatch.setattr("stillhere.langgraph.store.MOST_AT_ONCE", 200)
    assert len({item.key for item in store.search(("all",), filter={"n": {"$gt": 9}}, limit=450, offset=10)}) == 450


def test_a_batch_may_be_larger_than_a_request(store: StillhereStore) -> None:
    store.batch([PutOp(("large",), str(number), {"text": "x" * 900_000}) for number in range(7)])
    assert sorted(item.key for item in store.search(("large",))) == list("0123456")


def test_a_search_for_no_items_finds_none(store: StillhereStore) -> None:
    store.put(("a",), "k", {"n": 1})
    assert (store.search(("a",), limit=0), asyncio.run(store.asearch(("a",), limit=0))) == ([], [])


def test_what_expires(store: StillhereStore) -> None:
    store.put(("short",), "k", {"n": 1}, ttl=0.0001)
    store.put(("long",), "k", {"n": 1}, ttl=60)
    for _ in range(1_000):
        if store.get(("short",), "k", refresh_ttl=False) is None:
            break
    assert store.get(("short",), "k") is None
    assert store.get(("long",), "k") is not None


def test_what_people_set_for_the_items_stays(store: StillhereStore, server: LiveServer, secret: str) -> None:
    project = store.connection.project
    with Client(server.url, secret, project) as client:
        client.set_memory_settings("langgraph", quota_bytes=100)
        for _ in range(2):  # As in two processes.
            other = StillhereStore(server.url, secret, project)
            other.put(("a",), "k", {"token": SECRET["token"]})
            with pytest.raises(StillhereError, match="507 over_namespace_quota"):
                other.put(("a",), "long", {"text": "x" * 100})
            other.connection.close()
        assert client.get_value(["langgraph", "a"], "k").value == {"token": SECRET["token"]}  # type: ignore[union-attr]


def test_wrong_names_are_refused(store: StillhereStore) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("with.dot",), "k", {})])
    with pytest.raises(StillhereError, match="422"):
        store.put(("a",), "", {"n": 1})


def test_coroutines_of_several_event_loops(store: StillhereStore) -> None:
    async def both(number: int) -> Any:
        await store.aput(("a",), f"k{number}", {"n": number})
        try:
            return await asyncio.gather(*(store.aget(("a",), f"k{number}") for _ in range(5)))
        finally:
            await store.connection.aclose()

    for number in range(2):
        assert [item.value for item in asyncio.run(both(number))] == [{"n": number}] * 5
