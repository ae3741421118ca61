"""Answers of an OpenAI-compatible server that is not ours: its own way to stream, to begin and to end."""

import json
import socket
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from tests.generation.generations.asked import Asked
from tests.support.live_server import LiveServer
from tests.support.server_process import Api

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
    """It reads JSON as YAML, when it is loaded."""
    rules = tmp_path_factory.mktemp("model") / "rules.yaml"
    rules.write_text(json.dumps({"rules": RULES}))
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("FAKELLM_CONFIG", str(rules))
        from fakellm.server import app  # type: ignore[import-untyped]
    served = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=served.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        served.should_exit = True
        thread.join()


@pytest.fixture
def api(settings: Any, model_url: str, server: LiveServer, secret: str) -> Iterator[Api]:
    settings.CHAT_URL, settings.CHAT_KEY, settings.CHAT_MODEL = model_url, "k", "small"
    api = Api(server.url, secret)
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
