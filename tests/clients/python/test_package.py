"""The package is built, installed into an environment of its own, and imported without any framework."""

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from tests.support.server_process import ROOT

PACKAGE = ROOT / "clients/python"
IMPORTED = """
import sys, stillhere
assert stillhere.Client and stillhere.Spool
assert not {"agents", "claude_agent_sdk", "google", "langgraph", "pydantic_ai"} & {name.split(".")[0] for name in sys.modules}
print(stillhere.__file__)
"""
# In Python 3.12 `threading.Lock` is a function. Later it is a class, which an annotation may join with others by `|`.
AS_IN_PYTHON_312 = """
import _thread, threading
threading.Lock = _thread.allocate_lock
import stillhere.cli
"""


def run(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_version_and_licence_are_the_repositorys() -> None:
    version = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["version"]
    newest = re.search(r"^## (\S+)", (PACKAGE / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@pytest.mark.once
def test_it_is_imported_where_a_lock_is_no_class() -> None:
    run("env", f"PYTHONPATH={PACKAGE / 'src'}", sys.executable, "-c", AS_IN_PYTHON_312)


@pytest.mark.once
@pytest.mark.scale
def test_it_is_built_and_installed_from_the_built_file(tmp_path: Path) -> None:
    source, clean = tmp_path / "source", tmp_path / "clean"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    # By way of the source distribution, and without a network: what builds is in the lock file.
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path / "dist", source)
    assert [file.name.partition("-")[0] for file in sorted((tmp_path / "dist").iterdir())] == ["stillhere_client"] * 2
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", clean)
    python = clean / "bin/python"
    run(sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--python", python, wheel)
    # Its two requirements come from here.
    place = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (place / "requirements.pth").write_text(sysconfig.get_path("purelib"))
    imported = Path(run(python, "-c", IMPORTED).strip())
    assert imported.is_relative_to(clean)
    assert (imported.parent / "py.typed").exists()
    assert (imported.parent / "langgraph/saver.py").exists()
    assert "usage: stillhere" in run(clean / "bin/stillhere", "--help")
