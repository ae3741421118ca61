"""The package is built, installed into an environment of its own, and imported without any framework: with the present
interpreter, and with one of the oldest version that it promises, if there is one on this machine."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from tests.clients.interpreters import interpreter
from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT

PACKAGE = ROOT / "clients/python"
PROJECT = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
OLDEST = PROJECT["requires-python"].removeprefix(">=")
# Modules of these names need the frameworks.
FRAMEWORKS = sorted(name.replace("-", "_") for name in PROJECT["optional-dependencies"] if name != "cli")
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
# orjson is compiled, and of the present version only. What is tested here is how the package's own lines run.
INSTEAD_OF_ORJSON = """
import json
from json import JSONDecodeError, loads

def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
"""
EVERY_MODULE = """
import importlib, pathlib, sys, stillhere
root = pathlib.Path(stillhere.__file__).parent
for file in sorted(root.rglob("*.py")):
    compile(file.read_text(encoding="utf-8"), file, "exec")
    path = file.relative_to(root).with_suffix("").parts
    if path[0] not in sys.argv[1:]:
        importlib.import_module(".".join(["stillhere", *path]).removesuffix(".__init__"))
        print(path[0])
"""
SAVES = """
import asyncio, sys
from stillhere import AsyncClient, Client, Spool

async def resumed():
    async with AsyncClient() as client:
        return [each.text for each in (await client.resume()).messages]

with Client() as client:
    session = client.create_session(title="Old")
    client.save(session.id, [{"id": "m1", "role": "user", "text": "Grüße"}])
    assert [each.text for each in client.resume().messages] == asyncio.run(resumed()) == ["Grüße"]
with Spool(sys.argv[1]) as spool:
    spool.save([{"id": "m2", "role": "assistant", "text": "from a spool"}], session=session.id)
    assert spool.flush()
"""


def run(*command: object, **variables: str) -> str:
    environment = {**os.environ, **variables}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the built files."""
    source, built = tmp_path_factory.mktemp("source") / "python", tmp_path_factory.mktemp("dist")
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    # By way of the source distribution, and without a network: what builds is in the lock file.
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", built, source)
    return built


def installed(built: Path, clean: Path, base: Path) -> tuple[Path, Path]:
    """Python of a new environment with the package, and the environment's folder of packages."""
    (wheel,) = built.glob("*.whl")
    run(base, "-m", "venv", "--without-pip", clean)
    python = clean / "bin/python"
    run(sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--python", python, wheel)
    # Its requirements come from here.
    place = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (place / "requirements.pth").write_text(sysconfig.get_path("purelib"))
    return python, place


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
def test_it_is_built_and_installed_from_the_built_file(built: Path, tmp_path: Path) -> None:
    assert [file.name.partition("-")[0] for file in sorted(built.iterdir())] == ["stillhere_client"] * 2
    clean = tmp_path / "clean"
    python, _ = installed(built, clean, Path(sys.executable))
    imported = Path(run(python, "-c", IMPORTED).strip())
    assert imported.is_relative_to(clean)
    assert (imported.parent / "py.typed").exists()
    assert (imported.parent / "langgraph/saver.py").exists()
    assert "usage: stillhere" in run(clean / "bin/stillhere", "--help")


@pytest.mark.once
@pytest.mark.scale
def test_it_works_with_the_oldest_python_that_it_promises(built: Path, tmp_path: Path, server: LiveServer, secret: str) -> None:
    """What an annotation names, for example, is looked up when a module is imported, and differs between versions."""
    base = interpreter(OLDEST)
    if base is None:
        pytest.skip(f"There is no Python {OLDEST} on this machine.")
    clean = tmp_path / "clean"
    python, place = installed(built, clean, base)
    (place / "orjson.py").write_text(INSTEAD_OF_ORJSON)
    # Bytecode of another version has no place beside the packages that are borrowed.
    settings = {"PYTHONDONTWRITEBYTECODE": "1", "STILLHERE_URL": server.url, "STILLHERE_KEY": secret, "STILLHERE_PROJECT": "/old"}
    imported = set(run(python, "-c", EVERY_MODULE, *FRAMEWORKS, **settings).split())
    assert imported >= {"cli", "client", "connection", "http", "operations", "spool"}
    run(python, "-c", SAVES, tmp_path / "spool", **settings)
    assert run(clean / "bin/stillhere", "resume", **settings) == "Old\n\nuser: Grüße\n\nassistant: from a spool\n"
