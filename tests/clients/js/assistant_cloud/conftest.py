"""The real `assistant-cloud` in Node, at a real server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.js.conftest import MODULES, run
from tests.support.live_server import LiveServer

# `cloud()`: as a backend has it, with the project as its workspace. `page(token)`: as a page has it.
PREPARED = """
import { AssistantCloud, CloudMessagePersistence, createFormattedPersistence, generateThreadTitle } from "assistant-cloud";
const [baseUrl, apiKey, given] = process.argv.slice(2);
const GIVEN = JSON.parse(given);
const cloud = (workspaceId = "/users/ana") =>
  new AssistantCloud({ baseUrl, apiKey, userId: "ana", workspaceId, telemetry: false });
const page = (token) => new AssistantCloud({ baseUrl, authToken: async () => token, telemetry: false });
const refused = (promise) => promise.then(() => 0, (error) => error.status ?? String(error));
const now = () => new Date();
const say = (value) => console.log(JSON.stringify(value));
"""
type Script = Callable[..., Any]


@pytest.fixture
def script(server: LiveServer, secret: str, tmp_path: Path) -> Script:
    """Runs code and returns what it says."""
    (tmp_path / "node_modules").symlink_to(MODULES)

    def ran(code: str, **given: Any) -> Any:
        (tmp_path / "script.mjs").write_text(PREPARED + code)
        return json.loads(run("node", tmp_path / "script.mjs", server.url, given.pop("key", secret), json.dumps(given)))

    return ran
