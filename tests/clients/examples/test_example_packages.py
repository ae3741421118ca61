"""What `make example` installs is enough for the examples, in the versions that are tested, and little."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT

PINNED = re.compile(r"^([\w.-]+)==([^ ;]+)", re.MULTILINE)
IMPORTED = re.compile(r"""\bfrom "((?:@[\w-]+/)?[\w-]+)""")
# Runs a program as if packages that are not named were not installed.
RUN_WITH = """
import re, runpy, sys
from importlib.metadata import packages_distributions

program, *named = sys.argv[1:]
plain = lambda name: re.sub(r"[-_.]+", "-", name).lower()
absent = {module for module, packages in packages_distributions().items() if not {plain(name) for name in packages} & set(named)}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in absent:
            raise ModuleNotFoundError(f"{name} is not installed", name=name)

sys.meta_path.insert(0, Absent())
runpy.run_path(program, run_name="__main__")
"""
pytestmark = pytest.mark.once


def pinned(name: str) -> dict[str, str]:
    return dict(PINNED.findall((ROOT / f"requirements/{name}.txt").read_text()))


def test_the_versions_are_those_that_are_tested() -> None:
    assert pinned("examples").items() <= pinned("dev").items()
    assert len(pinned("examples")) < len(pinned("dev")) / 2


@pytest.mark.parametrize("name", ["langgraph", "openai-agents"])
def test_an_example_runs_with_no_other_packages(name: str, server: LiveServer, secret: str) -> None:
    own = {
        "PYTHONPATH": str(ROOT / "clients/python/src"),
        "STILLHERE_URL": server.url,
        "STILLHERE_KEY": secret,
        "STILLHERE_PROJECT": "/p",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN_WITH, str(ROOT / "examples" / name / "chat.py"), *pinned("examples")],
        env={**os.environ, **own}, input="Hello\n", capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout.count("That was line 1")) == (0, 1), done.stderr


def test_what_the_page_imports_is_not_among_the_tools() -> None:
    installed = json.loads((ROOT / "package.json").read_text())["dependencies"].keys()
    sources = [*(ROOT / "examples/ai-sdk").glob("*.js*"), *(ROOT / "clients/js/src/ai-sdk").glob("*.js")]
    imported = {name for source in sources for name in IMPORTED.findall(source.read_text())}
    assert {"ai", "react"} <= imported
    assert imported - {"node", "stillhere"} <= installed
