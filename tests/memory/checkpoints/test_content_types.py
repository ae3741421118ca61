"""Checkpoints as MessagePack have what they have as JSON, with bytes in place of base64."""

import base64
from typing import Any

import ormsgpack
import pytest

from memory_app.checkpoints.content_types import MSGPACK
from memory_app.models import Checkpoint
from tests.memory.checkpoints.conftest import Graph, grown

pytestmark = pytest.mark.django_db


def with_bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [with_bytes(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {name: with_bytes(each) for name, each in value.items() if name != "base64"}
    return {**made, "data": base64.b64decode(value["base64"])} if "base64" in value else made


def both(graph: Graph, rest: str) -> tuple[Any, Any]:
    """The answer in JSON and in MessagePack."""
    address = f"/api/v1{graph.address(f'/checkpoints{rest}')}"
    packed = graph.api.client.get(address, headers={"Accept": f"{MSGPACK}, application/json;q=0.5"})
    assert (packed.headers["Content-Type"], packed.headers["Cache-Control"]) == (MSGPACK, "no-store")
    return graph.api.client.get(address).json(), ormsgpack.unpackb(packed.content)


@pytest.mark.parametrize("rest", ["", "?limit=1", "?limit=2&before=c3", "/~/c2", "?ns=none"])
def test_it_has_the_same(graph: Graph, rest: str) -> None:
    grown(graph, source="loop", step=1, score=0.1 + 0.2, tags=["ä", None, True])
    as_json, as_msgpack = both(graph, rest)
    assert as_msgpack == with_bytes(as_json)


def test_bytes_of_any_kind(graph: Graph) -> None:
    every = bytes(range(256))
    graph.put("c1", versions={"a": "1", "b": "1"}, values={"a": every, "b": b""})
    graph.write("c1", (0, "x", every))
    answer = both(graph, "/~/c1")[1]
    assert [value["data"] for value in answer["values"]] == [every, b""]
    assert answer["writes"][0]["data"] == every


def test_damaged_metadata_are_missing_in_both(graph: Graph) -> None:
    grown(graph, 1)
    Checkpoint.objects.update(metadata="{")
    assert [answer["metadata"] for answer in both(graph, "/~/c0")] == [None, None]


def test_an_integer_that_it_does_not_have_is_answered_as_json(graph: Graph) -> None:
    graph.put("c1", metadata={"large": 2**70})
    answer = graph.api.client.get(f"/api/v1{graph.address('/checkpoints')}", headers={"Accept": MSGPACK})
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.json()["items"][0]["metadata"] == {"large": 2**70}


def test_a_refusal_is_json(graph: Graph) -> None:
    answer = graph.api.client.get(f"/api/v1{graph.address('/checkpoints/~/none')}", headers={"Accept": MSGPACK})
    assert (answer.status_code, answer.json()["error"]["details"]["kind"]) == (404, "checkpoint")


@pytest.mark.parametrize(
    ("accepts", "packed"),
    [
        ("Application/Vnd.MsgPack", True),
        (f"{MSGPACK};q=0.9, */*;q=0.1", True),
        (f"{MSGPACK};q=0", False),
        (f"{MSGPACK};q=0, application/json", False),
        (f"application/json, {MSGPACK};q=0.1", False),
        (f"{MSGPACK}2", False),
        (f'text/plain; note="{MSGPACK}"', False),
        ("application/*", False),
    ],
)
def test_it_is_answered_to_who_prefers_it(graph: Graph, accepts: str, packed: bool) -> None:
    grown(graph, 1)
    answer = graph.api.client.get(f"/api/v1{graph.address('/checkpoints')}", headers={"Accept": accepts})
    assert answer.headers["Content-Type"].startswith(MSGPACK if packed else "application/json")


def test_the_description_of_the_api_has_both(graph: Graph) -> None:
    paths = graph.api.get("/openapi.json").json()["paths"]
    for path in ("/checkpoints", "/checkpoints/{ns}/{checkpoint_id}"):
        answers = paths[f"/api/v1/projects/{{project_id}}/threads/{{thread}}{path}"]["get"]["responses"]
        assert answers["200"]["content"].keys() == {"application/json", MSGPACK}
