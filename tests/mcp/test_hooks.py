"""`clients/hooks/` as terminal agents run them: processes with an event at standard input."""

import hashlib
import http.server
import json
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.server_process import ROOT, free_port
from tests.support.sockets import House
from tests.support.suite import first_of

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


def test_a_folder_is_one_project_with_and_without_a_slash_at_its_end(house: House, event: dict[str, Any]) -> None:
    run("session_end", event, URL=house.server.url, KEY=house.key, PROJECT=f"{event['cwd']}/")
    project = house.api.call("POST", "/projects", {"path": event["cwd"]})["id"]
    assert house.api.call("GET", f"/projects/{project}/sessions")["items"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_without_a_server_or_with_a_wrong_key_the_agent_goes_on(house: House, event: dict[str, Any], script: str) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    for environment in ({"URL": dead, "KEY": "sh_x"}, {"URL": house.server.url, "KEY": "sh_wrong"}, {"URL": house.server.url}):
        done = run(script, event, **environment)
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert "The agent goes on without it." in done.stderr
        assert environment.get("KEY", "sh_wrong") not in done.stderr


@pytest.mark.parametrize("given", first_of(['{"transcript_path": "/nowhere", "session_id": 1}', "{", "", "[]", "{}"], 2))
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


def saved(house: House, event: dict[str, Any], name: str = "") -> list[dict[str, Any]]:
    """The messages of the event's session."""
    project = house.api.call("POST", "/projects", {"path": event["cwd"]})["id"]
    session = house.api.call("GET", f"/projects/{project}/sessions/by-external/{name or event['session_id']}")["id"]
    messages: list[dict[str, Any]] = []
    place: dict[str, str] = {}
    while True:
        page = house.api.call("GET", f"/sessions/{session}/messages", limit=500, **place)
        messages = page["items"] + messages
        if page["next"] is None:
            return messages
        place = {"before": page["next"]}


def write(event: dict[str, Any], messages: dict[str, str]) -> None:
    lines = [{"uuid": name, "message": {"role": "user", "content": text}} for name, text in messages.items()]
    Path(event["transcript_path"]).write_text("\n".join(map(json.dumps, lines)))


def test_a_transcript_longer_than_a_request_is_saved_whole_and_in_its_order(
    house: House, hook: Run, event: dict[str, Any]
) -> None:
    """As JSON each of these characters has six bytes: together they have 7 MB."""
    given = {f"m{number}": f"{number} " + "漢" * 20_000 for number in range(60)}
    write(event, given)
    for _ in range(2):
        assert hook("session_end", event).stderr == ""
    assert [(one["id"], one["text"]) for one in saved(house, event)] == list(given.items())


@pytest.mark.slow
def test_ids_that_are_longer_than_the_servers_are_shortened(house: House, hook: Run, event: dict[str, Any]) -> None:
    given = {"m" * 64: "one", "m" * 65: "two", "é" * 65: "three"}
    write(event, given)
    event["session_id"] = "ä/" * 100
    for _ in range(2):
        assert hook("session_end", event).stderr == ""
    name = "sha256:" + hashlib.sha256(event["session_id"].encode()).hexdigest()
    found = saved(house, event, name)
    assert [one["text"] for one in found] == ["one", "two", "three"]
    assert found[0]["id"] == "m" * 64


def test_messages_that_the_server_rejects_are_named(house: House, hook: Run, event: dict[str, Any]) -> None:
    write(event, {"": "without an id", "m1": "one"})
    assert "did not store 1 of 2 messages" in hook("session_end", event).stderr
    assert [one["text"] for one in saved(house, event)] == ["one"]


def test_a_project_without_a_handoff_has_none_to_freeze(house: House, hook: Run, event: dict[str, Any]) -> None:
    done = hook("before_compaction", event)
    assert (done.stdout, done.stderr) == ("", "")
    assert len(saved(house, event)) == 2


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("content", first_of([b"<html>", b"", b"null", b"[]"], 1))
def test_an_answer_that_is_empty_is_not_given_to_the_agent(event: dict[str, Any], script: str, content: bytes) -> None:
    class Empty(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)

        do_PUT = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    done = run(script, event, URL=f"http://127.0.0.1:{server.server_port}", KEY="sh_x")
    server.shutdown()
    server.server_close()
    assert done.stdout == ""
    assert "is not Stillhere's. The agent goes on without it." in done.stderr
