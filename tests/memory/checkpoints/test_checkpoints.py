"""Checkpoints: values once a version, writes in order, exact bytes, a quota, few statements."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory_app.checkpoints import queries
from memory_app.models import ChannelValue, Checkpoint, GraphThread, PendingWrite
from tests.memory.checkpoints.conftest import Graph, check_sizes, typed
from tests.memory.test_races import WRITERS, at_once

ALL_BYTES = bytes(range(256))
SECRET = b'{"key": "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"}'


def test_a_checkpoint_comes_back_as_it_was_sent(graph: Graph) -> None:
    metadata = {"step": 1, "n": 10**30, "nul": "a\0", "token": SECRET.decode()}
    saved = graph.put("c1", checkpoint=typed(SECRET, "json"), metadata=metadata, versions={"a": "1"}, values={"a": ALL_BYTES})
    assert (saved.status_code, saved.json()) == (201, {"ns": "", "id": "c1", "created": True, "differs": []})
    read = graph.api.get(graph.address("/checkpoints/~/c1")).json()
    assert base64.b64decode(read["checkpoint"]["base64"]) == SECRET
    assert (read["parent"], read["metadata"], read["versions"], read["writes"]) == (None, metadata, {"a": "1"}, [])
    assert read["values"] == [{"ns": "", "channel": "a", "version": "1", **typed(ALL_BYTES)}]
    latest = graph.read(limit=1)
    assert latest["values"] == read.pop("values")
    assert latest["items"] == [read]


def test_a_value_is_stored_once_however_many_checkpoints_have_it(graph: Graph) -> None:
    graph.put("c1", versions={"a": "1", "b": "1"}, values={"a": b"large", "b": b"b1"})
    for number in range(2, 6):
        answer = graph.put(f"c{number}", versions={"a": "1", "b": str(number)}, values={"b": b"b%d" % number})
        assert answer.status_code == 201
    assert ChannelValue.objects.filter(channel="a").count() == 1
    found = graph.read()
    assert len(found["values"]) == 6
    assert {item["versions"]["a"] for item in found["items"]} == {"1"}
    check_sizes()


def test_versions_that_nobody_sent_are_refused_by_name(graph: Graph) -> None:
    graph.put("c1", versions={"a": "1"}, values={"a": b"1"})
    answer = graph.put("c2", versions={"a": "2", "b": "7", "c": "1"}, values={"c": b"c"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "unknown_versions")
    assert error["details"] == {"versions": [{"channel": "a", "version": "2"}, {"channel": "b", "version": "7"}], "count": 2}
    assert graph.ids() == ["c1"]
    assert not ChannelValue.objects.filter(channel="c").exists()
    # Another namespace has versions of its own.
    assert graph.put("c1", ns="child:1", versions={"a": "1"}).status_code == 409


def test_a_put_can_be_repeated_and_a_version_never_changes(graph: Graph) -> None:
    sent: dict[str, Any] = {"versions": {"a": "1"}, "values": {"a": b"first"}}
    assert graph.put("c1", **sent).status_code == 201
    before = graph.read()
    again = graph.put("c1", **sent)
    assert (again.status_code, again.json()["created"], graph.read()) == (200, False, before)
    other = graph.put("c2", versions={"a": "1"}, values={"a": b"second"})
    assert other.json()["differs"] == ["a"]
    assert base64.b64decode(graph.read()["values"][0]["base64"]) == b"first"
    check_sizes()


def test_a_replaced_checkpoint_leaves_no_value_behind(graph: Graph) -> None:
    graph.put("c1", versions={"a": "1"}, values={"a": b"first"})
    graph.put("c1", versions={"a": "2"}, values={"a": b"second"})
    assert [value.version for value in ChannelValue.objects.all()] == ["2"]
    check_sizes()


def test_writes_are_in_the_order_of_path_task_and_number(graph: Graph) -> None:
    """They may come before their checkpoint, too."""
    graph.write("c1", (1, "x", b"1"), (0, "x", b"0"), task="b", path="~p1")
    graph.write("c1", (0, "x", b"2"), task="z", path="")
    graph.write("c1", (0, "x", b"3"), (-1, "e", b"4"), task="a", path="~p1")
    graph.put("c1")
    [item] = graph.read()["items"]
    order = [(write["path"], write["task"], write["idx"]) for write in item["writes"]]
    assert order == [("", "z", 0), ("~p1", "a", -1), ("~p1", "a", 0), ("~p1", "b", 0), ("~p1", "b", 1)]


def test_of_writes_with_one_number_the_first_stays_but_a_special_one_is_replaced(graph: Graph) -> None:
    graph.put("c1")
    assert graph.write("c1", (0, "x", b"first"), (-3, "i", b"early")).json() == {"stored": 2}
    assert graph.write("c1", (0, "x", b"other"), (-3, "i", b"later"), (1, "x", b"new")).json() == {"stored": 2}
    assert graph.write("c1", (0, "x", b"other")).json() == {"stored": 0}
    writes = [base64.b64decode(write["base64"]) for write in graph.read()["items"][0]["writes"]]
    assert writes == [b"later", b"first", b"new"]
    check_sizes()


def test_lists_go_by_id_and_have_pages(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        graph.put(f"c{number}", ns=("~", "sub")[number % 2], metadata={"step": number, "source": ("loop", "input")[number > 2]})
    assert graph.ids() == ["c5", "c4", "c3", "c2", "c1", "c0"]
    assert graph.ids(ns="") == ["c4", "c2", "c0"]
    assert graph.ids(ns="sub", before="c4") == ["c3", "c1"]
    assert graph.ids(filter=json.dumps({"source": "loop", "step": {"$gte": 1}})) == ["c2", "c1"]
    first = graph.read(limit=4)
    second = graph.read(limit=4, cursor=first["next"])
    assert ([item["id"] for item in second["items"]], second["next"]) == (["c1", "c0"], None)
    monkeypatch.setattr(queries, "FILTERED", 2)
    pages: list[list[str]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = graph.read(filter='{"source": "loop"}', cursor=cursor)
        pages.append([item["id"] for item in page["items"]])
        cursor = page["next"]
    assert pages == [[], ["c2"], ["c1", "c0"], []]
    monkeypatch.setattr(queries, "PAGE_BYTES", 1)
    assert [item["id"] for item in graph.read()["items"]] == ["c5"]


@pytest.mark.parametrize(
    "query",
    [
        {"filter": "[1]"}, {"filter": "{"}, {"cursor": "bm8"}, {"cursor": "W3t9LDFd"},
        {"cursor": base64.b64encode(b"[" * 12_000).decode()}, {"limit": 101}, {"before": "x" * 256},
    ],
)  # fmt: skip
def test_wrong_queries_are_refused(graph: Graph, query: dict[str, Any]) -> None:
    answer = graph.api.client.get(f"/api/v1{graph.address('/checkpoints')}", query)
    assert answer.status_code == 422


@pytest.mark.parametrize(
    "wrong",
    [
        {"checkpoint": {"type": "json", "base64": "no base64!"}}, {"checkpoint": {"type": "", "base64": ""}},
        {"versions": {"a": ""}}, {"versions": {"": "1"}}, {"versions": {"a": "1\0"}}, {"versions": {"a": 1}}, {"parent": ""},
        {"versions": {"a" * 501: "1"}}, {"metadata": []}, {"more": 1},
    ],
)  # fmt: skip
def test_wrong_checkpoints_are_refused(graph: Graph, wrong: dict[str, Any]) -> None:
    body = {"checkpoint": typed(b"state"), **wrong}
    assert graph.api.put(graph.address("/checkpoints/~/c1"), body).status_code == 422
    assert not Checkpoint.objects.exists()


def test_a_value_without_a_version_and_large_metadata_are_refused(graph: Graph) -> None:
    assert graph.put("c1", values={"a": b"1"}).status_code == 422
    assert graph.put("c1", metadata={"note": "x" * 70_000}).status_code == 413


def test_names_of_any_kind_have_an_address(graph: Graph) -> None:
    for name in ("a~1b", "~0", "%E4%B8%AD%E6%96%87%20x", "child:1|sub:2"):
        assert graph.put("~01", ns=name).status_code == 201
    assert {item["ns"] for item in graph.read()["items"]} == {"a/b", "~", "中文 x", "child:1|sub:2"}
    assert {item["id"] for item in graph.read()["items"]} == {"~1"}
    for wrong in ("~2", "a~", "x" * 1_001):
        assert graph.put("c1", ns=wrong).status_code == 422
    assert graph.put("~").status_code == 422


def test_above_the_quota_nothing_is_stored(graph: Graph, settings: Any) -> None:
    settings.CHECKPOINT_BYTES = 1_300
    assert graph.put("c1", versions={"a": "1"}, values={"a": b"x" * 800}).status_code == 201
    answer = graph.put("c2", versions={"a": "2"}, values={"a": b"x" * 800})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (507, "over_checkpoint_quota")
    stats = graph.api.get(graph.memory.address("memory-stats")).json()
    assert error["details"]["size_bytes"] == stats["checkpoint_bytes"]
    assert (error["details"]["limit"], stats["limits"]["checkpoint_bytes"]) == (1_300, 1_300)
    assert graph.write("c1", (0, "x", b"x" * 300)).status_code == 507
    assert graph.ids() == ["c1"]
    check_sizes()
    # A thread's end makes room.
    assert graph.api.delete(graph.address()).json() == {"deleted": 1}
    assert graph.put("c2", versions={"a": "2"}, values={"a": b"x" * 800}).status_code == 201


def test_a_deleted_checkpoint_takes_its_writes_and_values_along(graph: Graph) -> None:
    graph.put("c1", versions={"a": "1", "b": "1"}, values={"a": b"1", "b": b"1"})
    graph.put("c2", versions={"a": "1", "b": "2"}, values={"b": b"2"})
    graph.write("c2", (0, "x", b"1"))
    assert graph.api.delete(graph.address("/checkpoints/~/c2")).status_code == 204
    assert graph.api.delete(graph.address("/checkpoints/~/c2")).status_code == 404
    assert not PendingWrite.objects.exists()
    assert {(value.channel, value.version) for value in ChannelValue.objects.all()} == {("a", "1"), ("b", "1")}
    check_sizes()


def test_the_statements_do_not_depend_on_what_is_stored(graph: Graph) -> None:
    def count(call: Callable[[], Any]) -> int:
        with CaptureQueriesContext(connection) as caught:
            assert call().status_code in {200, 201}
        return len(caught)

    def counts(name: str) -> list[int]:
        channels = {f"ch{number}": name for number in range(8)}
        return [
            count(lambda: graph.put(name, versions=channels, values=dict.fromkeys(channels, b"value"))),
            count(lambda: graph.write(name, *((number, "x", b"1") for number in range(8)))),
            count(lambda: graph.api.get(graph.address("/checkpoints?limit=1"))),
            count(lambda: graph.api.get(graph.address("/checkpoints?limit=20"))),
        ]

    graph.put("a")
    few = counts("b")
    for number in range(30):
        graph.put(f"c{number}", versions={"x": str(number)}, values={"x": b"1"})
    assert counts("d") == few
    assert max(few) <= 15


def test_writers_at_once_lose_nothing(shared_graph: Graph) -> None:
    def work(number: int) -> list[int]:
        name = f"c{number:02}"
        return [
            shared_graph.put(name, versions={"a": "1", "b": name}, values={"a": b"same", "b": name.encode()}).status_code,
            shared_graph.write("c00", (0, "x", name.encode()), task=name).status_code,
        ]

    assert at_once(work) == [[201, 200]] * WRITERS
    assert len(shared_graph.ids()) == WRITERS
    assert ChannelValue.objects.filter(channel="a").count() == 1
    assert len(shared_graph.read(before="c01")["items"][0]["writes"]) == WRITERS
    assert GraphThread.objects.count() == 1
    check_sizes()
