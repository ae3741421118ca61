"""The services of ADK, in an environment of their own: its versions of some packages are not those of the other tests."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.clients.documents import PAGES, PRINTED, program
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


def test_the_checks_pass(server: LiveServer, secret: str) -> None:
    """In one run: to load ADK takes longer than most of the checks."""
    settings = {"STILLHERE_URL": server.url, "STILLHERE_KEY": secret, "PYTHONPATH": f"{SOURCE}{os.pathsep}{ROOT}"}
    (page,) = [each for each in PAGES if each.name == "adk.md"]
    settings |= {"PAGE": program(page), "PRINTED": PRINTED[page.name]}
    inherited = ("PATH", "HOME", "STILLHERE_PROVE", "STILLHERE_TEST_SLOW")
    environment = {name: os.environ[name] for name in inherited if name in os.environ} | settings
    checks = sorted((ROOT / HERE).glob("*_checks.py"))
    command: list[str | Path] = [PYTHON, "-m", "pytest", *ALONE, f"--rootdir={ROOT}", *checks]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
