"""A backup that is ended by a signal leaves nothing, and what a killed one left is gone after the next one."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.server_process import ROOT, ServerProcess
from tests.support.stores import Store
from tests.support.suite import first_of

pytestmark = pytest.mark.scale
PATIENCE_SECONDS = 30
# A backup that takes long: it says when it writes the store.
SLOW = """
import sys, time
import django
django.setup()
from django.core.management import call_command
from config.backups import save_and_restore
engine = save_and_restore._engine()
dump = engine.dump
def slowly(file):
    dump(file)
    print("dumping", flush=True)
    # One long sleep would not end for a signal that came just before it.
    for _ in range(6000):
        time.sleep(0.01)
engine.dump = slowly
call_command("backup", *sys.argv[1:])
"""
# A disk that is full after so many bytes of a file.
FULL = """
import resource, sys
import django
django.setup()
from django.core.management import call_command
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
call_command("backup", *sys.argv[1:])
"""


@pytest.fixture
def server(store: Store) -> ServerProcess:
    """Of a store with one file of a chat; it is not started."""
    content = store.folder / "files" / "1" / "content"
    content.parent.mkdir(parents=True)
    content.write_bytes(b"words")
    return ServerProcess(store)


@contextmanager
def half_way(server: ServerProcess, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**server.environment, "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", SLOW, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "dumping\n"
            yield process
        finally:
            process.kill()


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("number", first_of([signal.SIGTERM, signal.SIGINT, signal.SIGHUP], 1))
def test_a_backup_that_is_told_to_end_leaves_nothing(server: ServerProcess, store: Store, number: signal.Signals) -> None:
    with half_way(server) as process:
        assert len(left_in(store.folder / "backups")) == 2
        process.send_signal(number)
        said, complaint = process.communicate(timeout=PATIENCE_SECONDS)
        assert (said, complaint, process.returncode) == ("", "", 128 + number)
    assert left_in(store.folder / "backups") == []


@pytest.mark.slow
def test_the_next_backup_takes_away_what_a_killed_one_left(server: ServerProcess, store: Store, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    foreign = elsewhere / "film.part"
    foreign.write_text("of another program")
    for arguments in (("--to", str(elsewhere / "own")), ()):
        with half_way(server, *arguments) as process:
            process.kill()
    assert len(left_in(store.folder / "backups")) == 2
    assert left_in(elsewhere) == ["film.part", "own.files", "own.part"]
    # Was deleted since.
    (elsewhere / "own.files" / "1" / "deleted").write_bytes(b"words")
    server.manage("backup", "--to", str(elsewhere / "own"))
    assert left_in(store.folder / "backups") == []
    assert left_in(elsewhere) == ["film.part", "own", "own.files"]
    assert left_in(elsewhere / "own.files" / "1") == ["content"]


@pytest.mark.slow
def test_two_backups_at_once_do_not_take_away_each_others_files(server: ServerProcess, store: Store) -> None:
    with half_way(server):
        with pytest.raises(AssertionError, match=r"failed:\nCommandError: Another backup of .* is being made\."):
            server.manage("backup")
        assert len(left_in(store.folder / "backups")) == 2


def test_a_full_disk_names_the_file_that_was_asked_for(server: ServerProcess, tmp_path: Path) -> None:
    target = tmp_path / "full" / "store.backup"
    target.parent.mkdir()
    said = on_a_full_disk(server, target)
    assert str(target) in said
    assert ".part" not in said
    assert left_in(target.parent) == []


@pytest.mark.slow
def test_a_backup_that_fails_leaves_an_older_one_its_files(server: ServerProcess, tmp_path: Path) -> None:
    """Its own file was moved away; what is of no older backup goes."""
    target = tmp_path / "full" / "store.backup"
    kept = target.with_name("store.backup.files") / "1" / "older"
    kept.parent.mkdir(parents=True)
    kept.write_text("older words")
    assert str(target) in on_a_full_disk(server, target)
    assert left_in(target.parent) == ["store.backup.files"]
    assert kept.read_text() == "older words"


def on_a_full_disk(server: ServerProcess, target: Path) -> str:
    environment = {**server.environment, "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", FULL, "--to", str(target)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.stderr.rpartition("CommandError: ")[2]
