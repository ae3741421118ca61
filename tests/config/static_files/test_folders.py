"""The static files of versions that serve at the same time from one data folder, as in a rolling upgrade."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.http.static_files import folders as static_folders
from config.server.file_locks import locked
from tests.support.server_process import ROOT

# Another process, which has the lock until its input ends.
SERVING = """
import sys
from pathlib import Path
from config.server.file_locks import locked
with locked(Path(sys.argv[1]) / ".served", shared=True):
    print("serves", flush=True)
    sys.stdin.read()
"""
# A start in the middle of its compressing, which is a program that does not end by itself.
STARTING = """
import sys
from pathlib import Path
import django
django.setup()
from config.http.static_files import folders as static_folders
from config.server.file_locks import locked
sys.executable, folder = sys.argv[1], Path(sys.argv[2])
with locked(folder / "starting.lock") as lock:
    static_folders._collect(folder, lock)
"""
type Begin = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all versions. Compressing would take a minute."""

    def collect(folder: Path, lock: int) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "a.js").write_text(folder.name)
        (folder / "staticfiles.json").touch()
        (folder / ".collected").touch()

    monkeypatch.setattr(static_folders, "_collect", collect)
    return tmp_path


@pytest.fixture
def begin(top: Path, settings: Any) -> Begin:
    """The version of this name begins to serve."""

    @contextmanager
    def begun(name: str) -> Iterator[None]:
        settings.STATIC_ROOT = top / name
        with static_folders.provided(-1):
            yield

    return begun


def test_a_version_keeps_its_files_while_another_one_begins(top: Path, begin: Begin) -> None:
    with begin("old"):
        pass
    command = [sys.executable, "-c", SERVING, str(top / "old")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as old:
        assert old.stdout is not None
        old.stdout.readline()
        with begin("new"):
            assert (top / "old" / "a.js").read_text() == "old"
            assert (top / "new" / "a.js").read_text() == "new"
        old.communicate(b"")
    with begin("new"):
        assert [path.name for path in top.iterdir()] == ["new"]


def test_files_of_a_version_without_folders_stay_for_one_start(top: Path, begin: Begin) -> None:
    (top / "js").mkdir()
    (top / "js" / "a.js").write_text("older")
    (top / "staticfiles.json").write_text("{}")
    with begin("new"):
        assert (top / "js" / "a.js").exists()
    with begin("new"):
        assert [path.name for path in top.iterdir()] == ["new"]


def test_files_without_their_manifest_are_collected_again(top: Path, begin: Begin) -> None:
    """They were written elsewhere, and every page was answered 500 until the next version."""
    (top / "new").mkdir()
    (top / "new" / ".collected").touch()
    with begin("new"):
        assert (top / "new" / "a.js").exists()


def test_a_folder_is_complete_only_with_its_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_folders, "run_manage", lambda *command, lock: "")
    with pytest.raises(ImproperlyConfigured, match=rf"cannot be written to {tmp_path}: there is no staticfiles\.json"):
        static_folders._collect(tmp_path, -1)
    assert list(tmp_path.iterdir()) == []


def test_each_version_has_a_folder_of_its_own(tmp_path: Path) -> None:
    script = tmp_path / "a.js"
    script.write_text("one")
    before = static_folders.name_of([tmp_path])
    assert static_folders.name_of([tmp_path]) == before
    script.write_text("other")
    assert static_folders.name_of([tmp_path]) != before


def test_files_that_are_made_in_another_way_are_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_folders, "__file__", str(tmp_path / "folders.py"))
    (tmp_path / "bundles.py").write_text("one")
    before = static_folders.name_of([])
    (tmp_path / "bundles.py").write_text("other")
    assert static_folders.name_of([]) != before
    monkeypatch.setattr(static_folders, "PACKAGES", ("no such package",))
    assert static_folders.name_of([]) != before


@contextmanager
def compressing(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server that starts, and the id of the process that compresses for it."""
    program = folder / "compress"
    program.write_text("#!/bin/sh\necho $$\nexec sleep 60\n")
    program.chmod(0o755)
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "STILLHERE_DATA_DIR": str(folder)}
    command = [sys.executable, "-c", STARTING, str(program), str(folder)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        compressor = int(server.stdout.readline())
        try:
            yield server, compressor
        finally:
            server.kill()
            with suppress(ProcessLookupError):
                os.kill(compressor, signal.SIGKILL)


def test_a_start_that_is_told_to_end_leaves_nobody_who_compresses(tmp_path: Path) -> None:
    with compressing(tmp_path) as (server, compressor):
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 128 + signal.SIGTERM
        with pytest.raises(ProcessLookupError):
            os.kill(compressor, 0)


def test_the_next_start_waits_for_who_compresses_for_a_killed_one(tmp_path: Path) -> None:
    """Both would write into one folder."""
    with compressing(tmp_path) as (server, _):
        server.kill()
        server.wait(30)
        with pytest.raises(BlockingIOError), locked(tmp_path / "starting.lock"):
            pass
