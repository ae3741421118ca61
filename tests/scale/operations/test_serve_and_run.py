"""`manage.py serve` and `manage.py run` as their users start them."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured

from config.server import tables
from config.server.file_locks import locked, store_lock
from tests.support.databases import ON_POSTGRESQL, own_database
from tests.support.server_process import ROOT, ServerProcess, free_port
from tests.support.stores import Store

pytestmark = pytest.mark.scale
START_SECONDS = 120
FIRST_START_BYTES = 180_000_000


@contextmanager
def started(
    command: str, folder: Path, *, cwd: str | Path = ROOT, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command once it serves: its address and its process."""
    with begun(command, folder, cwd=cwd, **environment) as (url, process):
        wait_for(url, process)
        yield url, process


@contextmanager
def begun(
    command: str, folder: Path, *, cwd: str | Path = ROOT, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    port = str(free_port())
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), *command.split()], cwd=cwd,
        env=variables(folder, PORT=port, **environment), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=15)


def variables(folder: Path, **environment: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("STILLHERE_")}
    return inherited | {f"STILLHERE_{name}": value for name, value in {"DATA_DIR": str(folder), **environment}.items()}


def wait_for(url: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not answers(url):
        assert process.poll() is None, "it ended"
        assert time.monotonic() < deadline, "it does not serve"
        time.sleep(0.1)


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").status_code == 200
    except httpx.TransportError:
        return False


def resident_bytes(process_id: int) -> int:
    status = Path(f"/proc/{process_id}/status")
    if not status.exists():
        pytest.skip("Only Linux tells.")
    found = re.search(r"VmRSS:\s*(\d+) kB", status.read_text())
    assert found is not None
    return int(found[1]) * 1024


@pytest.mark.once
@pytest.mark.slow
def test_serve_sends_static_files_compressed_under_names_that_may_be_kept_forever(tmp_path: Path) -> None:
    """From a relative folder too: the files were written into one of that name in the repository, and no page was found."""
    with own_database() as own, started("serve", Path("data"), cwd=tmp_path, **own) as (url, _):
        assert httpx.get(f"{url}/login/").status_code == 200
        docs = httpx.get(f"{url}/api/v1/docs").text
        address = re.search(r'src="(/static/ninja/swagger-ui-bundle\.[0-9a-f]{12}\.js)"', docs)
        assert address is not None
        for coding in ("br", "gzip"):
            script = httpx.get(url + address[1], headers={"Accept-Encoding": coding})
            assert script.headers["Content-Encoding"] == coding
            assert "immutable" in script.headers["Cache-Control"]


@pytest.mark.once
@pytest.mark.slow
def test_servers_that_start_together_on_one_data_folder_wait_for_each_other(tmp_path: Path) -> None:
    """Each writes tables and static files; the second one deleted what the first one was writing."""

    def script(own: dict[str, str]) -> int:
        with started("serve", tmp_path, **own) as (url, _):
            address = re.search(r'src="(/static/js/[^"]+)"', httpx.get(f"{url}/login/").text)
            return httpx.get(url + address[1]).status_code if address else 0

    with own_database() as own, ThreadPoolExecutor(2) as pool:
        # An embedded store has one server.
        each = (own, own) if own else [{"DATABASE_URL": f"sqlite:///{tmp_path}/{name}"} for name in "ab"]
        assert list(pool.map(script, each)) == [200, 200]


@pytest.mark.slow
@pytest.mark.skipif(ON_POSTGRESQL, reason="a store that is a file")
def test_a_second_server_on_an_embedded_store_is_refused_and_may_follow_the_first(tmp_path: Path) -> None:
    """It ended the answers that the first one was making: on SQLite a server takes itself for the only one."""
    first, second, link = tmp_path / "first", tmp_path / "second", tmp_path / "link"
    link.symlink_to(first, target_is_directory=True)
    settings = {"STATIC_MANIFEST": "0", "DATABASE_URL": f"sqlite:///{link}/stillhere.sqlite3"}

    def refused(command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *command], cwd=ROOT, env=variables(second, PORT=str(free_port()), **settings),
            capture_output=True, text=True, check=False, timeout=START_SECONDS,
        )  # fmt: skip

    with started("serve", first, STATIC_MANIFEST="0") as (_, process):
        with ThreadPoolExecutor(2) as pool:  # Each waits for the first one's end for a quarter of a minute.
            refusals = list(pool.map(refused, [("serve",), ("restore", "no-such-file")]))
        for done in refusals:
            assert done.returncode == 1
            assert "Traceback" not in done.stderr
            assert "server" in done.stderr.splitlines()[-1]
            assert "Stop it" in done.stderr.splitlines()[-1]
        with begun("serve", second, **settings) as (url, follower):
            process.send_signal(signal.SIGTERM)
            wait_for(url, follower)


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGHUP])
def test_serve_ends_on_a_signal_without_an_error(tmp_path: Path, number: int) -> None:
    """SIGHUP comes when its terminal is closed."""
    with started("serve", tmp_path, STATIC_MANIFEST="0") as (_, process):
        process.send_signal(number)
        assert process.wait(10) in {0, -signal.SIGTERM}


@pytest.mark.slow
@pytest.mark.skipif(not ON_POSTGRESQL, reason="one process has an embedded store")
def test_workers_end_when_the_process_above_them_is_killed(tmp_path: Path) -> None:
    """Nobody could end them any more, and the next start would find the port taken."""
    with (
        own_database() as own,
        started("serve", tmp_path, STATIC_MANIFEST="0", WORKERS="2", THREADS="2", **own) as (url, process),
    ):
        process.kill()
        process.wait()
        deadline = time.monotonic() + 15
        while answers(url):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_more_workers_than_one_store_can_bear_are_refused(tmp_path: Path) -> None:
    environment = {**os.environ, "STILLHERE_DATA_DIR": str(tmp_path), "STILLHERE_WORKERS": "2", "STILLHERE_DATABASE_URL": ""}
    done = subprocess.run(
        [sys.executable, "manage.py", "serve"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "needs PostgreSQL" in done.stderr


def test_run_greets_with_a_link_that_signs_in_and_a_key_that_works(tmp_path: Path) -> None:
    """In a relative folder and a relative database: its own process for tables looked for both in the repository."""
    folder, database = tmp_path / f"data-{tmp_path.name}", tmp_path / f"store-{tmp_path.name}"
    relative = {"DATABASE_URL": f"sqlite:///{database.name}"}
    with started("run", Path(folder.name), cwd=tmp_path, **relative) as (url, process):
        assert process.stdout is not None
        told = "".join(process.stdout.readline() for _ in range(4))
        key = re.search(r"sh_\w{49}", told)
        assert key is not None
        assert f"{url}/welcome/" in told
        assert httpx.get(f"{url}/api/v1/projects", headers={"Authorization": f"Bearer {key[0]}"}).status_code == 200
        # The tables were made by another process: it takes 170 MB for that, which this one would keep.
        assert resident_bytes(process.pid) < FIRST_START_BYTES
    assert (folder / "secret_key").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert database.exists()
    assert not [path for path in (folder, database) if (ROOT / path.name).exists()]


@contextmanager
def store_is_taken(own: dict[str, str], folder: Path) -> Iterator[str]:
    """By a server, or on PostgreSQL by a migration. Yields what one who waits for its end is told."""
    if ON_POSTGRESQL:
        with psycopg.connect(own["DATABASE_URL"], autocommit=True) as connection:
            connection.execute("SELECT pg_advisory_lock(%s)", [0x5712])
            yield "Another process is migrating this database; waiting for it."
    else:
        with locked(store_lock(str(folder / "stillhere.sqlite3"))):
            yield f"Another server, or a restore, is using {folder}/stillhere.sqlite3. Waiting for its end."


@contextmanager
def start_is_taken(own: dict[str, str], folder: Path) -> Iterator[str]:
    with locked(folder / "starting.lock"):
        yield f"Another start is at work on {folder}. Waiting for its end."


@pytest.mark.parametrize(
    ("taken", "number"),
    [(store_is_taken, signal.SIGINT), pytest.param(start_is_taken, signal.SIGTERM, marks=pytest.mark.slow)],
)
def test_a_start_that_waits_says_so_at_once_and_ends_quietly(tmp_path: Path, taken: Any, number: signal.Signals) -> None:
    with own_database() as own, taken(own, tmp_path) as notice:
        environment = variables(tmp_path, PORT=str(free_port()), STATIC_MANIFEST="0", **own)
        command = [sys.executable, "manage.py", "serve"]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == f"{notice}\n"
            process.send_signal(number)
            assert (process.stderr.read(), process.wait(15)) == ("", 128 + number)


def test_a_store_of_a_newer_version_is_not_served_unless_asked_to(store: Store) -> None:
    """It was, without a word, and rows were written that the newer version cannot use."""
    server = ServerProcess(store, STATIC_MANIFEST="0")
    server.shell(
        "from django.db import connection; from django.db.migrations.recorder import MigrationRecorder; "
        "MigrationRecorder(connection).record_applied('sessions_app', '0999_future')"
    )
    with pytest.raises(AssertionError) as caught:
        server.manage("serve")
    assert str(caught.value).partition("failed:\n")[2] == (
        "Stillhere cannot start: A newer version made this store (it has sessions_app 0999_future). "
        "Start that version, or restore a backup from before.\n"
    )
    with started("serve --no-migrate", store.folder, STATIC_MANIFEST="0", **store.settings) as (_, process):
        assert process.stdout is not None
        assert process.stdout.readline() == "Stillhere brings static files up to date; the first time takes a while.\n"


def test_what_a_package_or_an_own_noun_left_is_of_no_newer_version() -> None:
    applied = {("bookmarks", "0001_first"): None, ("auth", "0999_future"): None}
    tables._refuse_newer(SimpleNamespace(applied_migrations=applied, disk_migrations={}))  # type: ignore[arg-type]
    ours = {**applied, ("memory_app", "0999_future"): None}
    with pytest.raises(ImproperlyConfigured, match="it has memory_app 0999_future"):
        tables._refuse_newer(SimpleNamespace(applied_migrations=ours, disk_migrations={}))  # type: ignore[arg-type]
