"""Answers of an OpenAI-compatible server that is not ours: its own way to stream, to begin and to end."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.generation.generations.asked import Asked
from tests.support.server_process import ROOT, START_SECONDS, Api, ServerProcess, free_port
from tests.support.stores import Store

pytestmark = pytest.mark.timeout(300)
LONG = " ".join(f"line {number} of the tide table, with an umlaut: Öl" for number in range(40))
AGAIN = {"previous_message_role": "assistant", "previous_message_contains": "tide table"}
CALLS = [{"name": "look_up", "arguments": {"place": "Bergen", "days": [1, 2, 3]}}, {"name": "now"}]
# The first that fits.
RULES = [
    {"name": "again", "when": AGAIN, "respond": {"content": "I have read it to you."}},
    {"name": "long", "when": {"messages_contain": "tide table"}, "respond": {"content": LONG}},
    {"name": "tools", "when": {"messages_contain": "weather"}, "respond": {"tool_calls": CALLS}},
]


@pytest.fixture(scope="module")
def model_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """It reads JSON as YAML."""
    rules = tmp_path_factory.mktemp("model") / "rules.yaml"
    rules.write_text(json.dumps({"rules": RULES}))
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "fakellm.server:app", "--port", str(port), "--log-level", "warning"]
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "FAKELLM_CONFIG": str(rules)}) as process:
        try:
            until = time.monotonic() + START_SECONDS
            while not _responds(f"http://127.0.0.1:{port}/_fakellm/stats"):
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def _responds(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def server(first_store: Store, model_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder: Path = tmp_path_factory.mktemp("other")
    with (
        first_store.copied(folder) as store,
        ServerProcess(store, CHAT_URL=model_url, CHAT_KEY="k", CHAT_MODEL="small") as server,
    ):
        yield server


@pytest.fixture
def api(server: ServerProcess) -> Iterator[Api]:
    api = server.api(server.key("ana"))
    yield api
    api.close()


def test_an_answer_is_stored_as_it_was_said(api: Api, path: str) -> None:
    asked = Asked(api, path, "Read me the tide table.", model="large")
    assert asked.ended() == "complete"
    message = asked.read()
    assert (message["text"], message["status"], message["metadata"]["model"]) == (LONG, "complete", "large")


@pytest.mark.slow
def test_it_is_asked_with_what_was_said_before(api: Api, path: str) -> None:
    asked = Asked(api, path, "Read me the tide table.")
    assert asked.ended() == "complete"
    asked.now = api.call("POST", f"/sessions/{asked.session}/generations", {"message": {"text": "And again?"}})
    assert asked.ended() == "complete"
    assert asked.read()["text"] == "I have read it to you."


def test_tool_calls_are_stored_whole(api: Api, path: str) -> None:
    asked = Asked(api, path, "How is the weather?")
    assert asked.ended() == "complete"
    calls = [part for part in asked.read()["parts"] if part["type"] == "tool_call"]
    assert [(call["name"], call["input"]) for call in calls] == [("look_up", {"place": "Bergen", "days": [1, 2, 3]}), ("now", {})]
    assert len({call["id"] for call in calls}) == 2
