"""The scenarios of a persistent memory, by their numbers: the store itself, its folder, and what a new run is told."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.memory.conftest import Memory

MEGABYTE = 1_000_000


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path)


def test_scenario_01_the_store_is_in_the_project_s_folder(memory: Memory, path: str) -> None:
    memory.put("baselines/login", {"status": 200})
    call_command("memory_export", project=path)
    folder = Path(path) / ".stillhere"
    assert json.loads((folder / "baselines/login.json").read_text()) == {"status": 200}
    assert json.loads((folder / "meta.json").read_text())["project_path"] == path


def test_scenario_02_git_ignores_it_and_is_told_once(memory: Memory, path: str) -> None:
    subprocess.run(["git", "init", "-q", path], check=True)
    (Path(path) / ".gitignore").write_text("node_modules/")
    for _ in range(2):
        call_command("memory_export", project=path)
    assert (Path(path) / ".gitignore").read_text() == "node_modules/\n/.stillhere/\n"
    ignored = subprocess.run(["git", "check-ignore", "-q", ".stillhere/meta.json"], cwd=path, check=False)
    assert ignored.returncode == 0


@pytest.mark.parametrize("value", [{"nested": [1, 2.5, None, True, "ü 🦊\u2028"]}, [], "", 0, 10**40, {"": {"": []}}])
def test_scenario_03_save_then_load_is_identical(memory: Memory, value: Any) -> None:
    assert memory.put("baselines-of/mine", value).status_code == 201
    assert json.dumps(memory.get("baselines-of/mine").json()["value"]) == json.dumps(value)


def test_scenario_04_a_key_that_is_not_there_is_an_error(memory: Memory) -> None:
    answer = memory.get("baselines/none")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_scenario_05_keys_are_listed_by_their_names(memory: Memory) -> None:
    for key in ("login", "dashboard"):
        memory.put(f"baselines/{key}", {})
    memory.put("notes/other", 1)
    assert [item["key"] for item in memory.get("baselines").json()["items"]] == ["dashboard", "login"]


def test_scenario_06_what_is_deleted_is_not_there(memory: Memory) -> None:
    memory.put("notes/n", 1)
    assert memory.delete("notes/n").status_code == 204
    assert memory.get("notes/n").status_code == 404
    assert memory.delete("notes/n").status_code == 404


def test_scenario_07_stats_tell_sizes_and_counts(memory: Memory) -> None:
    memory.put("notes/a", "12345678")
    memory.put("notes/b", "1")
    memory.put("baselines/c", {})
    memory.put("notes/b", "123")
    memory.start()
    stats = memory.api.get(memory.address("memory-stats")).json()
    assert (stats["size_bytes"], stats["entries"], stats["session_count"]) == (10 + 5 + 2, {"baselines": 1, "notes": 2}, 1)
    assert stats["limits"]["entry_bytes"] == MEGABYTE
    assert stats["limits"]["project_bytes"] == 10 * MEGABYTE


def test_scenario_08_more_than_a_megabyte_is_refused(memory: Memory) -> None:
    assert memory.put("notes/n", "x" * (MEGABYTE - 2)).status_code == 201
    refused = memory.put("notes/n", "y" * (MEGABYTE - 1))
    assert refused.status_code == 413
    assert refused.json()["error"]["details"] == {"size_bytes": MEGABYTE + 1, "limit": MEGABYTE}
    assert memory.get("notes/n").json()["size_bytes"] == MEGABYTE


def test_scenario_10_a_fresh_store_says_one_session_and_no_data(memory: Memory) -> None:
    found = memory.api.get(memory.address("context")).json()
    assert found["session_count"] == 1
    assert found["baselines"] == {"count": 0, "names": []}
    assert found["errors"] == {"unresolved": [], "resolved": []}
    assert (found["handoff"], found["session"], found["ai_states"]) == (None, None, [])


def test_scenario_11_what_is_there_is_summarised(memory: Memory) -> None:
    """Baselines, API schema, durations; errors and noise rules are in another file."""
    for key in ("login", "dashboard"):
        memory.put(f"baselines/{key}", {"status": 200})
    memory.put("api_schema/schema", {"endpoints": [{"path": "/a"}, {"path": "/b"}, {"path": "/c"}]})
    for duration in (10, 400):
        run = memory.start()["run_id"]
        sample = {"samples": [{"endpoint": "GET /a", "duration_ms": duration}]}
        memory.api.post(memory.address("performance"), sample, **{"Stillhere-Run": run})
        memory.run(run, "end")
    found = memory.api.get(memory.address("context")).json()
    assert (found["session_count"], found["baselines"]["names"]) == (2, ["dashboard", "login"])
    assert found["api_schema"]["endpoint_count"] == 3
    assert [item["endpoint"] for item in found["performance"]["degraded"]] == ["GET /a"]


def test_scenario_16_a_folder_that_cannot_be_written_is_an_error_and_memory_goes_on(memory: Memory, path: str) -> None:
    """A store that cannot be written is tried with a server of its own; this is the folder."""
    memory.put("notes/n", 1)
    (Path(path) / ".stillhere").write_text("a file in its place")
    with pytest.raises(CommandError, match="Cannot write"):
        call_command("memory_export", project=path)
    assert memory.put("notes/n", 2).status_code == 200
    assert memory.get("notes/n").json()["value"] == 2


def test_a_baseline_and_a_schema_have_their_shape(memory: Memory) -> None:
    for key, value in (("baselines/login", []), ("api_schema/schema", {"endpoints": {}}), ("api_schema/schema", [])):
        refused = memory.put(key, value)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "wrong_shape")
    assert memory.put("api_schema/notes", "free").status_code == 201
