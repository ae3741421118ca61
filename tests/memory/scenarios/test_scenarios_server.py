"""Seed 002's scenarios by number, as far as they are about a server that ends, or whose store refuses."""

import dataclasses
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from django.conf import settings

from config.server.background import TASKS, BackgroundTasks
from memory_app.models import FilteredCount
from tests.memory.conftest import Memory
from tests.memory.errors.test_errors import record
from tests.scale.failures.test_store_refuses import disk_full, read_only
from tests.support.databases import ON_POSTGRESQL
from tests.support.server_process import ServerProcess
from tests.support.stores import Store

RULE = {"id": "r", "pattern": "noise", "kind": "substring", "source": "auto", "enabled": True}
STOPPED_SECONDS, HEALED_SECONDS = 60, 60
# An agent that speaks over its pipes, as one that a tool starts does: it takes the lease, reports, and is gone.
AGENT = """
import json, sys, urllib.request
url, key, errors = sys.argv[1], sys.argv[2], json.loads(sys.stdin.readline())
def call(path, body, **headers):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    request.add_header("Authorization", "Bearer " + key)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)
run = call("/runs", {"agent": "piped"})["run_id"]
print(json.dumps(call("/errors", {"errors": errors}, **{"Stillhere-Run": run})), flush=True)
"""


class Client:
    """One project's memory over HTTP; it outlives the server."""

    def __init__(self, server: ServerProcess, path: str = "/home/ana/shop") -> None:
        self._server, self._key = server, server.key("ana")
        self.project = self.call("POST", "/projects", {"path": path}).json()["id"]

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        sent = {"Authorization": f"Bearer {self._key}", **headers}
        return httpx.request(method, f"{self._server.url}/api/v1{path}", json=body, headers=sent, timeout=20)

    def on(self, method: str, rest: str, body: Any = None, **headers: str) -> httpx.Response:
        return self.call(method, f"/projects/{self.project}/{rest}", body, **headers)

    def filtered(self) -> int:
        return int(self.on("GET", "context").json()["noise"]["filtered"])

    def agent(self, errors: list[dict[str, str]]) -> dict[str, Any]:
        """What a process that reports these errors, and dies without a word, was answered."""
        command = [sys.executable, "-c", AGENT, f"{self._server.url}/api/v1/projects/{self.project}", self._key]
        done = subprocess.run(command, input=json.dumps(errors) + "\n", capture_output=True, text=True, check=True, timeout=20)
        return dict(json.loads(done.stdout))


@contextmanager
def served(store: Store, *, flush_seconds: str = "30") -> Iterator[tuple[ServerProcess, Client]]:
    with ServerProcess(store, FLUSH_SECONDS=flush_seconds) as server:
        yield server, Client(server)


@pytest.mark.scale
@pytest.mark.slow
def test_scenario_14_a_server_that_is_told_to_end_stores_the_counts_first(store: Store) -> None:
    with served(store, flush_seconds="3600") as (server, client):
        client.on("PUT", "memory/noise/config", {"rules": [RULE]})
        answer = client.agent([{"message": "noise 1"}, {"message": "noise 2"}, {"message": "real"}])
        assert (answer["filtered"], answer["recorded"]) == (2, 1)
        server.signal(signal.SIGTERM)
        server.wait(STOPPED_SECONDS)
        server.start()
        assert client.filtered() == 2
        assert len(client.on("GET", "errors").json()["items"]) == 1


@pytest.mark.timeout(60)
def test_scenario_15_counts_that_wait_are_stored_within_the_interval(shared: Memory) -> None:
    shared.put("noise/config", {"rules": [RULE]})
    flushing = next(chore for chore in TASKS if chore.name == "flushing")
    assert flushing.seconds == settings.FLUSH_SECONDS == 30
    upkeep = BackgroundTasks((dataclasses.replace(flushing, seconds=0.3, at_end=None),))
    upkeep.start()
    try:
        for number in (1, 2):
            record(shared, {"message": "noise"})
            deadline = time.monotonic() + 20
            while list(FilteredCount.objects.values_list("count", flat=True)) != [number]:
                assert time.monotonic() < deadline
                time.sleep(0.05)
    finally:
        upkeep.stop()


@pytest.mark.scale
def test_scenario_16_a_store_that_refuses_writes_says_so_reads_on_and_recovers(store: Store) -> None:
    with served(store) as (server, client):
        run = client.on("POST", "runs", {}).json()["run_id"]
        client.on("PUT", "memory/notes/n", {"kept": True}, **{"Stillhere-Run": run})
        client.on("POST", "errors", {"errors": [{"message": "kept"}]}, **{"Stillhere-Run": run})
        with read_only(store.settings["DATABASE_URL"]) if ON_POSTGRESQL else disk_full(server):
            for method, rest, body in writes(run):
                refused = client.on(method, rest, body, **{"Stillhere-Run": run})
                assert refused.status_code == (503 if ON_POSTGRESQL else 507), (rest, refused.text)
                assert refused.json()["error"].keys() == {"code", "message", "details"}
                assert client.on("GET", "memory/notes/n").json()["value"] == {"kept": True}
                assert [error["message"] for error in client.on("GET", "errors").json()["items"]] == ["kept"]
                assert client.on("GET", "context").status_code == 200
        deadline = time.monotonic() + HEALED_SECONDS
        for method, rest, body in writes(run):
            while (done := client.on(method, rest, body, **{"Stillhere-Run": run})).status_code == 503:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert done.is_success, (rest, done.text)
        assert client.on("GET", "memory/notes/n").json()["value"] == "new"
        assert len(client.on("GET", "errors").json()["items"]) == 2


def writes(run: str) -> list[tuple[str, str, Any]]:
    """Each way in which something gets into memory; the value is larger than what a full disk still takes."""
    large = "x" * 100_000
    return [
        ("PUT", "memory/notes/large", large),
        ("PUT", "memory/notes/n", "new"),
        ("POST", "errors", {"errors": [{"message": "new", "stack": large}]}),
        ("POST", "performance", {"samples": [{"endpoint": "GET /", "duration_ms": 5}]}),
        ("POST", f"runs/{run}/heartbeat", {}),
        ("POST", f"runs/{run}/end", {"entries": [{"namespace": "notes", "key": "last", "value": large}]}),
    ]
