"""A project's memory as a folder, for tests."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.memory.conftest import Memory


def export(path: str, **options: Any) -> Path:
    call_command("memory_export", project=path, verbosity=0, **options)
    return Path(options.get("to") or Path(path) / ".stillhere")


def bring_in(capsys: pytest.CaptureFixture[str], project: str, **options: Any) -> list[str]:
    """What was left out, each with its reason."""
    capsys.readouterr()
    call_command("memory_import", project=project, **options)
    return [line.removeprefix("left out ") for line in capsys.readouterr().err.splitlines()]


def other(memory: Memory) -> Memory:
    return Memory(memory.api, "elsewhere")


def fill(memory: Memory) -> None:
    memory.put("baselines/login", {"status": 200, "huge": 10**30})
    memory.put("notes/a.b-c_d", "中文 🦊")
    memory.put("noise/config", {"rules": []})
    run = memory.start()["run_id"]
    by = {"Stillhere-Run": run}
    memory.api.post(memory.address("errors"), {"errors": [{"message": "it broke", "kind": "TypeError"}] * 3}, **by)
    [error] = memory.api.get(memory.address("errors")).json()["items"]
    memory.api.post(memory.address(f"errors/{error['fingerprint']}/resolve"), {"known_fix": "restart"}, **by)
    memory.api.post(memory.address("performance"), {"samples": [{"endpoint": "GET /", "duration_ms": 12.5}] * 3}, **by)
    memory.run(run, "end")


def told(memory: Memory) -> list[Any]:
    left_out = {"rev", "updated_at", "first_at", "id"}
    answers = [memory.api.get(memory.address(f"{what}")).json()["items"] for what in ("memory/notes", "errors", "performance")]
    answers.append(memory.get("baselines/login").json()["value"])
    return json.loads(json.dumps(answers), object_hook=lambda found: {k: v for k, v in found.items() if k not in left_out})  # type: ignore[no-any-return]
