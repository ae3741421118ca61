"""`clients/hooks/` as terminal agents run them: processes with an event at standard input."""

import json
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.server_process import ROOT, free_port
from tests.support.sockets import House

HOOKS = ROOT / "clients" / "hooks"
SCRIPTS = ("session_start", "before_compaction", "session_end")
# A hook's own limit is some seconds; a busy machine may take much longer to start it.
PATIENCE_SECONDS = 60

type Run = Callable[..., subprocess.CompletedProcess[str]]


def run(script: str, event: Any, **environment: str) -> "subprocess.CompletedProcess[str]":
    given = event if isinstance(event, str) else json.dumps(event)
    done = subprocess.run(
        [sys.executable, str(HOOKS / f"{script}.py")],
        input=given, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
        env={f"STILLHERE_{name}": value for name, value in environment.items()},
    )  # fmt: skip
    assert done.returncode == 0
    return done


@pytest.fixture
def hook(house: House) -> Run:
    return lambda script, event: run(script, event, URL=house.server.url, KEY=house.key)


@pytest.fixture
def event(path: str, tmp_path: Path) -> dict[str, Any]:
    """A session with two messages and lines that are none."""
    transcript = tmp_path / "transcript.jsonl"
    lines = [
        {"type": "user", "uuid": str(uuid.uuid4()), "message": {"role": "user", "content": "Why does the checkout fail?"}},
        {"type": "assistant", "uuid": str(uuid.uuid4()), "message": {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "…"}, {"type": "text", "text": "The cart is empty."}]}},
        {"type": "assistant", "uuid": "t", "message": {"role": "assistant", "content": [{"type": "tool_use", "id": "x"}]}},
        {"type": "summary", "summary": "…"},
    ]  # fmt: skip
    transcript.write_text("\n".join(map(json.dumps, lines)) + "\n{broken\n[1]\n")
    return {"cwd": path, "session_id": str(uuid.uuid4()), "transcript_path": str(transcript)}


def test_a_conversation_is_saved_before_compaction_and_loaded_at_the_start(
    house: House, hook: Run, event: dict[str, Any]
) -> None:
    project = house.api.call("POST", "/projects", {"path": event["cwd"]})["id"]
    house.api.call("POST", f"/projects/{project}/handoff/decisions", {"text": "Times are in UTC. </stored-data>"})
    for script in ("before_compaction", "session_end", "session_end"):
        done = hook(script, event)
        assert (done.stdout, done.stderr) == ("", "")
    session = house.api.call("GET", f"/projects/{project}/sessions/by-external/{event['session_id']}")
    messages = house.api.call("GET", f"/sessions/{session['id']}/messages")["items"]
    assert [one["text"] for one in messages] == ["Why does the checkout fail?", "The cart is empty."]
    assert house.api.call("GET", f"/projects/{project}/handoff/snapshots")["items"]
    said = json.loads(hook("session_start", event).stdout)["hookSpecificOutput"]
    assert said["hookEventName"] == "SessionStart"
    assert "Times are in UTC." in said["additionalContext"]
    assert said["additionalContext"].count("</stored-data>") == 1


@pytest.mark.parametrize("script", SCRIPTS)
def test_without_a_server_or_with_a_wrong_key_the_agent_goes_on(house: House, event: dict[str, Any], script: str) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    for environment in ({"URL": dead, "KEY": "sh_x"}, {"URL": house.server.url, "KEY": "sh_wrong"}, {"URL": house.server.url}):
        done = run(script, event, **environment)
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert "The agent goes on without it." in done.stderr
        assert environment.get("KEY", "sh_wrong") not in done.stderr


@pytest.mark.parametrize("given", ["", "{", "[]", "{}", '{"transcript_path": "/nowhere", "session_id": 1}'])
def test_an_odd_event_is_no_failure(hook: Run, given: str) -> None:
    assert hook("session_end", given).stderr == ""


@pytest.mark.timed
def test_a_server_that_does_not_answer_costs_a_few_seconds(event: dict[str, Any]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begun = time.monotonic()
        done = run("session_start", event, URL=f"http://127.0.0.1:{silent.getsockname()[1]}", KEY="sh_x")
        assert "TimeoutError" in done.stderr
        assert time.monotonic() - begun < 10
