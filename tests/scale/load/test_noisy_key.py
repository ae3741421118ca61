"""One key that does its worst: it gets 429 with numbers, and other clients are not affected."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from tests.support.machine_speed import allowed, percentile_99
from tests.support.server_process import ServerProcess
from tests.support.stores import Store
from tests.support.suite import is_patient

pytestmark = [pytest.mark.scale, pytest.mark.timed]
SECONDS = 60 if "STILLHERE_PROVE" in os.environ else 6 if is_patient() else 4
P99_SECONDS = 0.3
RATE = 600
# The other account saves with several keys. Each stays below the rate of a key, however fast its saves are.
KEYS = 4
PAUSE_SECONDS = 60 / RATE * 1.1
MORE_KEYS = f"""
from django.core.management import call_command
for _ in range({KEYS}):
    call_command("create_key", user="ana")
"""
# Large saves, reads and tickets from 16 connections, each as fast as the server answers, whatever it answers.
WORST = """
import collections, json, sys, threading, time, httpx
url, key, session, seconds = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
answers, last, lock, ends = collections.Counter(), {}, threading.Lock(), time.monotonic() + seconds
def work(thread):
    client, number = httpx.Client(base_url=url + "/api/v1", headers={"Authorization": "Bearer " + key}, timeout=30), 0
    while time.monotonic() < ends:
        number += 1
        if thread % 4 == 0:
            answer = client.get("/sessions/" + session)
        elif thread % 4 == 1:
            answer = client.post("/ws-tickets")
        else:
            ops = [{"op": "upsert", "id": f"m{thread}-{number}-{i}", "role": "user", "text": "x" * 90_000} for i in range(10)]
            body = {"epoch": 1, "writer_id": f"w{thread}", "seq": number, "ops": ops}
            answer = client.post("/sessions/" + session + "/changes", json=body)
        with lock:
            answers[answer.status_code] += 1
            if answer.status_code >= 400:
                last[answer.status_code] = (answer.json()["error"], answer.headers.get("Retry-After"))
threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(json.dumps({"answers": answers, "last": last}))
"""


@pytest.fixture
def server(store: Store) -> Iterator[ServerProcess]:
    with ServerProcess(store, RATE_REQUESTS=str(RATE), RATE_WRITE_BYTES="5000000", RATE_TICKETS="20") as process:
        yield process


@contextmanager
def doing_its_worst(server: ServerProcess) -> Iterator[subprocess.Popen[str]]:
    """In a process of its own, so that it takes nothing from the one that measures but the machine."""
    api = server.api(server.key("ben"))
    _, session = api.session("/noise")
    api.close()
    command = [sys.executable, "-c", WORST, server.url, server.key("ben"), session, str(SECONDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def saves_of(server: ServerProcess, key: str, session: str, process: subprocess.Popen[str]) -> list[float]:
    """How long each save with this key takes, until the noise ends."""
    api, took = server.api(key), []
    number = 0
    while process.poll() is None:
        number += 1
        began = time.monotonic()
        api.save(session, f"m{number}", writer="ana", seq=number)
        took.append(time.monotonic() - began)
        time.sleep(PAUSE_SECONDS)
    api.close()
    return took


def test_one_key_that_does_its_worst_is_slowed_down_alone(server: ServerProcess) -> None:
    api = server.api(server.key("ana"))
    quiet = [(key, api.session(f"/quiet/{key[:12]}")[1]) for key in server.shell(MORE_KEYS).split()]
    api.close()
    with doing_its_worst(server) as process, ThreadPoolExecutor(KEYS) as pool:
        each = [pool.submit(saves_of, server, key, session, process) for key, session in quiet]
        took = [seconds for saves in each for seconds in saves.result()]
        assert process.stdout is not None
        said = json.loads(process.stdout.read())
    assert set(said["answers"]) <= {"200", "201", "429"}, said
    error, retry_after = said["last"][str(httpx.codes.TOO_MANY_REQUESTS.value)]
    assert error["code"] == "rate_exceeded"
    assert error["details"]["limit"] in {20, RATE, 5_000_000}
    assert 1 <= int(retry_after) <= 60
    assert len(took) > 20
    assert percentile_99(took) <= allowed(P99_SECONDS), (sorted(took)[-5:], len(took), said["answers"])
