"""The services of ADK, in an environment of their own: its versions of some packages are not those of the other tests."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.clients.python.conftest import SOURCE
from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT

PYTHON = ROOT / ".venv-adk/bin/python"
HERE = "tests/clients/python/adk"
ALONE = [
    "-p",
    f"{HERE.replace('/', '.')}.fixtures",
    "-c",
    os.devnull,
    "--noconftest",
    "--import-mode=importlib",
    "-p",
    "no:cacheprovider",
    "-q",
    "--timeout=60",
]

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(
        not PYTHON.exists() and os.environ.get("STILLHERE_REQUIRE_SERVICES") != "1", reason="scripts/install.sh adk was not run"
    ),
]


@pytest.mark.parametrize("checks", ["session_checks", "state_checks", "rule_checks", "retry_checks", "scenario_checks"])
def test_the_checks_pass(server: LiveServer, secret: str, checks: str) -> None:
    settings = {"STILLHERE_URL": server.url, "STILLHERE_KEY": secret, "PYTHONPATH": f"{SOURCE}{os.pathsep}{ROOT}"}
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | settings
    command: list[str | Path] = [PYTHON, "-m", "pytest", *ALONE, f"--rootdir={ROOT}", ROOT / HERE / f"{checks}.py"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
