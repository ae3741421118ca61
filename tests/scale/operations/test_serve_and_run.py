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

import httpx
import pytest

from tests.support.databases import ON_POSTGRESQL, own_database
from tests.support.server_process import ROOT, free_port

pytestmark = pytest.mark.scale
START_SECONDS = 120
FIRST_START_BYTES = 180_000_000


@contextmanager
def started(command: str, folder: Path, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command once it serves: its address and its process."""
    with begun(command, folder, **environment) as (url, process):
        wait_for(url, process)
        yield url, process


@contextmanager
def begun(command: str, folder: Path, **environment: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    port = str(free_port())
    process = subprocess.Popen(
        [sys.executable, "manage.py", command], cwd=ROOT, env=variables(folder, PORT=port, **environment),
        stdout=subprocess.PIPE, text=True,
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
    with own_database() as own, started("serve", tmp_path, **own) as (url, _):
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


@pytest.mark.skipif(ON_POSTGRESQL, reason="a store that is a file")
def test_a_second_server_on_an_embedded_store_is_refused_and_may_follow_the_first(tmp_path: Path) -> None:
    """It ended the answers that the first one was making: on SQLite a server takes itself for the only one."""
    first, second, link = tmp_path / "first", tmp_path / "second", tmp_path / "link"
    link.symlink_to(first, target_is_directory=True)
    settings = {"STATIC_MANIFEST": "0", "DATABASE_URL": f"sqlite:///{link}/stillhere.sqlite3"}
    with started("serve", first, STATIC_MANIFEST="0") as (_, process):
        for command in (("serve",), ("restore", "no-such-file")):
            done = subprocess.run(
                [sys.executable, "manage.py", *command], cwd=ROOT, env=variables(second, PORT=str(free_port()), **settings),
                capture_output=True, text=True, check=False, timeout=START_SECONDS,
            )  # fmt: skip
            assert done.returncode == 1
            assert "Traceback" not in done.stderr
            assert "server" in done.stderr.splitlines()[-1]
            assert "Stop it" in done.stderr.splitlines()[-1]
        with begun("serve", second, **settings) as (url, follower):
            process.send_signal(signal.SIGTERM)
            wait_for(url, follower)


@pytest.mark.slow
def test_serve_ends_on_sigterm_without_an_error(tmp_path: Path) -> None:
    with started("serve", tmp_path, STATIC_MANIFEST="0") as (_, process):
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) in {0, -signal.SIGTERM}


def test_more_workers_than_one_store_can_bear_are_refused(tmp_path: Path) -> None:
    environment = {**os.environ, "STILLHERE_DATA_DIR": str(tmp_path), "STILLHERE_WORKERS": "2", "STILLHERE_DATABASE_URL": ""}
    done = subprocess.run(
        [sys.executable, "manage.py", "serve"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "needs PostgreSQL" in done.stderr


def test_run_greets_with_a_link_that_signs_in_and_a_key_that_works(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with started("run", folder) as (url, process):
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
