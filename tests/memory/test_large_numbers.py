"""Integers beyond 64 bits: the fast reader rounds them, and refuses those beyond a float."""

import json
import uuid
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile

import pytest

from memory_app.errors.noise.queries import list_rules
from memory_app.models import MemoryEntry, MemoryVersion
from tests.memory.batches.conftest import done
from tests.memory.batches.test_batches import keys, listed, put
from tests.memory.checkpoints.conftest import Graph
from tests.memory.conftest import Memory
from tests.memory.portability.folder_files import bring_in, export, fill, other
from tests.support.export_files import download, purge, upload

LARGE, HUGE = 2**64, 10**400
NUMBERS = {"a": LARGE, "b": LARGE + 1, "c": -LARGE - 1, "d": HUGE, "e": 2**64 - 1, "f": 1, "g": [LARGE + 1], "h": 2.0**64}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (LARGE, "ah"),
        (LARGE + 1, "b"),
        ([LARGE + 1], "g"),
        pytest.param(HUGE, "d", id="huge"),
        ({"$ne": LARGE + 1}, "acdefgh"),
        ({"$gt": LARGE}, "bd"),
        ({"$gt": 2.0**64}, "bd"),
        ({"$lt": -LARGE}, "c"),
        ({"$lte": 2**64 - 1}, "cef"),
        ({"$gt": 1}, "abdeh"),
        ({"$gte": 1, "$lt": LARGE + 1}, "aefh"),
    ],
)
def test_large_integers_are_compared_exactly(memory: Memory, wanted: Any, found: str) -> None:
    done(memory, *(put(key, {"n": number}) for key, number in NUMBERS.items()))
    assert "".join(keys(done(memory, listed(filter={"n": wanted}))[0])) == found
    graph = Graph(memory)
    for name, number in NUMBERS.items():
        assert graph.put(name, metadata={"n": number}).status_code == 201
    answer = graph.api.get(graph.address(f"/checkpoints?filter={quote(json.dumps({'n': wanted}))}"))
    assert "".join(sorted(item["id"] for item in answer.json()["items"])) == found


def test_an_integer_beyond_a_float_is_not_damaged(memory: Memory) -> None:
    assert memory.put("notes/n", HUGE).status_code == 201
    assert memory.get("notes/n").json()["value"] == HUGE
    [_, read] = done(memory, put("n", HUGE), {"op": "get", "namespace": ["users", "1"], "key": "n"})
    assert read["entry"]["value"] == HUGE
    graph = Graph(memory)
    graph.put("c1", metadata={"n": HUGE})
    assert graph.api.get(graph.address("/checkpoints/~/c1")).json()["metadata"] == {"n": HUGE}


def test_what_is_damaged_has_no_large_number(memory: Memory) -> None:
    done(memory, put("a", {"n": HUGE}), put("b", {"n": HUGE}))
    MemoryEntry.objects.filter(key="b").update(value=f'{{"n": {HUGE}, "m": NaN}}')
    for wanted in (HUGE, {"$gt": 1}):
        assert keys(done(memory, listed(filter={"n": wanted}))[0]) == ["a"]


def test_an_account_with_a_huge_integer_comes_back(memory: Memory) -> None:
    memory.put("notes/n", HUGE)
    memory.put("notes/gone", [HUGE])
    memory.delete("notes/gone")
    content = download(memory.api)
    purge(memory.api)
    answer = upload(memory.api, content)
    assert answer.status_code == 200, answer.content
    assert memory.get("notes/n").json()["value"] == HUGE
    assert [version.value for version in MemoryVersion.objects.exclude(deleted=None)] == [f"[{HUGE}]"]


def test_a_huge_integer_is_in_the_zip_and_in_the_folder(
    memory: Memory, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory.put("notes/n", HUGE)
    with ZipFile(BytesIO(memory.api.get(memory.address("memory-export")).getvalue())) as made:
        assert json.loads(made.read(".stillhere/notes/n.json")) == HUGE
    folder = export(path, to=tmp_path / "exported")
    assert json.loads((folder / "notes/n.json").read_text()) == HUGE
    there = other(memory)
    assert bring_in(capsys, "elsewhere", folder=folder) == []
    assert there.get("notes/n").json()["value"] == HUGE


def test_huge_numbers_in_recorded_data_do_not_end_an_import(
    memory: Memory, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(memory)
    folder, there = export(path, to=tmp_path / "exported"), other(memory)
    history, endpoints = folder / "errors/history.json", folder / "performance/endpoints.json"
    [error] = json.loads(history.read_text())["errors"]
    error["top_frame"] = {"file": "a.py", "function": "f", "line": 10**30}
    history.write_text(json.dumps([error]))
    [endpoint] = json.loads(endpoints.read_text())["endpoints"]
    wrong = {"endpoint": "huge", "runs": [endpoint["runs"][0] | {"mean_ms": HUGE}]}
    endpoints.write_text(json.dumps({"endpoints": [wrong, endpoint]}))
    assert bring_in(capsys, "elsewhere", folder=folder) == [
        "performance/endpoints.json: no. 1: it is not an endpoint in this format"
    ]
    assert there.api.get(there.address("errors")).json()["items"][0]["top_frame"]["line"] is None
    assert len(there.api.get(there.address("performance")).json()["items"]) == 1


def test_noise_rules_beside_a_huge_integer_are_in_force(memory: Memory) -> None:
    rule = {"id": "r", "pattern": "noise", "kind": "substring", "source": "manual", "enabled": True}
    memory.put("noise/config", {"rules": [rule], "n": HUGE})
    body = {"errors": [{"message": "noise"}]}
    assert memory.api.post(memory.address("errors"), body).json()["filtered"] == 1
    assert memory.api.get(memory.address("context")).json()["noise"]["total"] == 1
    assert [rule.id for rule in list_rules(project_id=uuid.UUID(memory.project))] == ["r"]
