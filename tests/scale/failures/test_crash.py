"""kill -9 in mid-save: what was acknowledged is stored, and nothing is stored partially."""

import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.scale.logged_writers import Writer, all_messages, problems
from tests.support.databases import ON_POSTGRESQL
from tests.support.server_process import ServerProcess
from tests.support.stores import Store
from tests.support.suite import is_patient

WRITERS, SESSIONS = 8, 3
KILLS = 4 if is_patient() else 2


@pytest.fixture
def server(store: Store) -> Iterator[ServerProcess]:
    with ServerProcess(store) as process:
        yield process


def crash_often(server: ServerProcess, folder: Path, *, kills: int) -> int:
    """How many saves were acknowledged meanwhile."""
    key = server.key("ana")
    api = server.api(key)
    sessions = [api.session(f"/crash/{number}")[1] for number in range(SESSIONS)]
    writers = [Writer(server.url, key, sessions[number % SESSIONS], f"w{number}") for number in range(WRITERS)]
    stop = threading.Event()
    threads = [threading.Thread(target=writer.run, args=(stop,)) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        for _ in range(kills):
            time.sleep(random.uniform(0.1, 0.5))
            server.kill()
            seen = {session: newest_ack(writers, session) for session in sessions}
            server.start()
            for session in sessions:
                assert api.call("GET", f"/sessions/{session}", messages=0)["session"]["rev"] >= seen[session], "rev fell"
        time.sleep(0.3)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    stored = {session: all_messages(api, session) for session in sessions}
    assert problems(writers, stored) == []
    for session in sessions:
        counted = api.call("GET", f"/sessions/{session}", messages=0)["session"]["message_count"]
        assert counted == len(stored[session])
    api.close()
    server.stop()
    if not ON_POSTGRESQL:
        assert_sound(folder / "stillhere.sqlite3")
    return sum(len(writer.acks) for writer in writers)


def newest_ack(writers: list[Writer], session: str) -> int:
    return max((writer.acks[-1].rev for writer in writers if writer.session == session and writer.acks), default=0)


def assert_sound(file: Path) -> None:
    connection: Any = sqlite3.connect(file)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    finally:
        connection.close()


@pytest.mark.scale
def test_crashes_under_eight_writers_lose_nothing_that_was_acknowledged(server: ServerProcess, tmp_path: Path) -> None:
    assert crash_often(server, tmp_path, kills=KILLS) > 10 * KILLS


@pytest.mark.scale
@pytest.mark.skipif(ON_POSTGRESQL, reason="SQLite's files")
def test_what_is_saved_after_another_program_has_read_the_file_survives_a_crash(server: ServerProcess, tmp_path: Path) -> None:
    api = server.api(server.key("ana"))
    _, session = api.session("/crash/other")
    assert httpx.get(f"{server.url}/readyz").is_success  # By threads, and connections, of their own.
    # With the SQLite of the system, as its command line tool.
    read = "import sqlite3, sys; one = sqlite3.connect(sys.argv[1]); one.execute('SELECT * FROM auth_user'); one.close()"
    subprocess.run([sys.executable, "-c", read, tmp_path / "stillhere.sqlite3"], check=True)
    assert api.save(session, "m1")["rev"]
    server.kill()
    server.start()
    assert list(all_messages(api, session)) == ["m1"]
    api.close()


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_two_hundred_crashes_lose_nothing_that_was_acknowledged(server: ServerProcess, tmp_path: Path) -> None:
    acknowledged = crash_often(server, tmp_path, kills=200)
    assert acknowledged > 5_000
