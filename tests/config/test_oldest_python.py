"""The server promises an older Python than the one that the tests run with."""

import subprocess
import tomllib

import pytest

from tests.clients.interpreters import interpreter
from tests.support.server_process import ROOT

OLDEST = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
# Of the server.
PACKAGES = ("config", "generation_app", "mcp_app", "memory_app", "nouns", "sessions_app")
COMPILED = """
import pathlib, sys
for package in sys.argv[1:]:
    for file in sorted(pathlib.Path(package).rglob("*.py")):
        compile(file.read_text(encoding="utf-8"), file, "exec")
        print(file)
"""


@pytest.mark.once
def test_all_modules_are_its_language() -> None:
    """That is all that is tried with it here: their requirements are installed for the present version only."""
    base = interpreter(OLDEST)
    if base is None:
        pytest.skip(f"There is no Python {OLDEST} on this machine.")
    done = subprocess.run([base, "-c", COMPILED, *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "config/http/bridge.py" in done.stdout.splitlines()
