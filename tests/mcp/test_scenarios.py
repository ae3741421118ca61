"""The scenarios of a persistent memory by their numbers, and an agent's patterns of use, through MCP.

Scenario 16, a store that cannot be written, is in `test_held_values.py`.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import batched
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils.timezone import now

from memory_app.errors.schemas import MOST_ERRORS
from memory_app.models import ErrorReport, FilteredCount
from tests.mcp.conftest import Connect
from tests.mcp.mcp_client import McpClient
from tests.support.live_server import LiveServer
from tests.support.server_process import ServerProcess
from tests.support.sockets import House
from tests.support.stores import Store

MEGABYTE = 1_000_000
RULE = {"id": "r", "pattern": "ResizeObserver loop", "kind": "substring", "source": "auto", "enabled": True}
PATIENCE_SECONDS = 30


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path)


@pytest.fixture
def client(connect: Connect) -> McpClient:
    return connect()


@pytest.fixture
def near(server: LiveServer, secret: str, path: str) -> McpClient:
    """Of a server in this process: what commands and time do to its tables, the test does."""
    return McpClient(server.url, secret, project=path)


def save(client: McpClient, namespace: str, key: str, data: Any) -> dict[str, Any]:
    return client.call("session_store", action="save", namespace=namespace, key=key, data=data)


def load(client: McpClient, namespace: str, key: str) -> Any:
    return client.call("session_store", action="load", namespace=namespace, key=key)["stored"]["value"]


def context(client: McpClient) -> dict[str, Any]:
    return dict(client.call("load_session_context")["stored"])


def project_of(house: House, path: str) -> str:
    return str(house.api.call("POST", "/projects", {"path": path})["id"])


def test_scenarios_01_and_02_the_store_is_in_the_project_s_folder_and_git_ignores_it(near: McpClient, path: str) -> None:
    subprocess.run(["git", "init", "-q", path], check=True)
    save(near, "baselines", "login", {"status": 200})
    call_command("memory_export", "--project", path, "--user", "alice")
    assert json.loads((Path(path) / ".stillhere/baselines/login.json").read_text()) == {"status": 200}
    assert (Path(path) / ".gitignore").read_text() == "/.stillhere/\n"


def test_scenario_03_save_then_load_returns_identical_data(client: McpClient) -> None:
    values = [{"nested": [1, 2.5, None, True, "ü 🦊\u2028"]}, [], "", 0, 10**40, {"": {"": []}}]
    for value in values:
        save(client, "notes", "n", value)
        assert json.dumps(load(client, "notes", "n")) == json.dumps(value)


def test_scenario_04_load_of_a_key_that_is_not_there_is_an_error(client: McpClient) -> None:
    save(client, "baselines", "login", {})
    refused = client.refusal("session_store", action="load", namespace="baselines", key="none")
    assert refused["error"]["code"] == "not_found"


def test_scenario_05_list_returns_the_keys_without_an_extension(client: McpClient) -> None:
    for key in ("login", "dashboard"):
        save(client, "baselines", key, {})
    items = client.call("session_store", action="list", namespace="baselines")["stored"]["items"]
    assert [item["key"] for item in items] == ["dashboard", "login"]


def test_scenario_06_what_is_deleted_cannot_be_loaded(client: McpClient) -> None:
    save(client, "notes", "n", 1)
    client.call("session_store", action="delete", namespace="notes", key="n")
    for action in ("load", "delete"):
        assert client.refusal("session_store", action=action, namespace="notes", key="n")["error"]["code"] == "not_found"


def test_scenario_07_stats_tell_sizes_and_counts(client: McpClient) -> None:
    for namespace, key, data in (("notes", "a", "12345678"), ("notes", "b", "123"), ("baselines", "c", {})):
        save(client, namespace, key, data)
    stats = client.call("session_store", action="stats")["stored"]
    assert (stats["size_bytes"], stats["entries"]) == (10 + 5 + 2, {"baselines": 1, "notes": 2})
    assert stats["limits"]["entry_bytes"] == MEGABYTE


def test_scenario_08_more_than_a_megabyte_is_refused(client: McpClient) -> None:
    save(client, "notes", "n", "x" * (MEGABYTE - 2))
    refused = client.refusal("session_store", action="save", namespace="notes", key="n", data="y" * (MEGABYTE - 1))
    assert refused["error"]["details"] == {"size_bytes": MEGABYTE + 1, "limit": MEGABYTE}
    assert load(client, "notes", "n").startswith("xx")


def test_scenario_09_an_end_and_a_new_start_count_the_session(client: McpClient, house: House, path: str) -> None:
    runs = f"/projects/{project_of(house, path)}/runs"
    for count in (1, 2):
        run = house.api.call("POST", runs, {})["run_id"]
        assert context(client)["session_count"] == count
        house.api.call("POST", f"{runs}/{run}/end", {})


def test_scenario_10_a_fresh_store_says_one_session_and_no_data(client: McpClient) -> None:
    found = context(client)
    assert (found["session_count"], found["baselines"]) == (1, {"count": 0, "names": []})
    assert (found["errors"], found["handoff"]) == ({"unresolved": [], "resolved": []}, None)


def test_scenario_11_what_is_there_is_summarised(client: McpClient) -> None:
    save(client, "baselines", "login", {"status": 200})
    save(client, "api_schema", "schema", {"endpoints": [{"path": "/a"}, {"path": "/b"}]})
    save(client, "noise", "config", {"rules": [RULE, {**RULE, "id": "m", "source": "manual"}]})
    open_one = client.call("error_record", message="boom")["fingerprint"]
    resolved = client.call("error_record", message="fixed")["fingerprint"]
    client.call("error_resolve", fingerprint=resolved)
    found = context(client)
    assert (found["baselines"]["names"], found["api_schema"]["endpoint_count"]) == (["login"], 2)
    assert {name: found["noise"][name] for name in ("total", "auto", "manual")} == {"total": 2, "auto": 1, "manual": 1}
    assert [error["fingerprint"] for error in found["errors"]["unresolved"]] == [open_one]
    assert [error["fingerprint"] for error in found["errors"]["resolved"]] == [resolved]


def test_scenario_12_rules_that_were_stored_are_in_force_at_once(client: McpClient) -> None:
    save(client, "noise", "config", {"rules": [RULE]})
    assert client.call("error_record", message="ResizeObserver loop limit")["fingerprint"] is None
    assert client.call("error_record", message="real")["new"] is True


def test_scenario_13_reads_and_writes_at_once_are_whole(client: McpClient) -> None:
    """Two writers replace a value whose halves must agree; readers never see one that does not."""
    save(client, "notes", "n", {"a": 0, "b": 0})

    def act(number: int) -> bool:
        if number < 2:
            return all(save(client, "notes", "n", {"a": item, "b": item})["rev"] for item in range(10))
        values = [load(client, "notes", "n") for _ in range(10)]
        return all(value["a"] == value["b"] for value in values)

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(act, range(6)))


@pytest.fixture
def own_server(store: Store) -> Iterator[ServerProcess]:
    server = ServerProcess(store, FLUSH_SECONDS="1")
    server.start()
    yield server
    server.stop()


def test_scenario_15_counts_are_stored_within_the_interval(own_server: ServerProcess, path: str) -> None:
    client = McpClient(own_server.url, own_server.key("ana"), project=path)
    save(client, "noise", "config", {"rules": [RULE]})
    client.call("error_record", message="ResizeObserver loop limit")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while context(client)["noise"]["filtered"] != 1:
        assert time.monotonic() < deadline


def test_scenario_14_counts_are_stored_at_the_end(transactional_db: None, secret: str, path: str) -> None:
    """Long before the interval is over. A server's process ends so too: `tests/memory/scenarios/`."""
    with LiveServer() as server:
        client = McpClient(server.url, secret, project=path)
        save(client, "noise", "config", {"rules": [RULE]})
        client.call("error_record", message="ResizeObserver loop limit")
        assert not FilteredCount.objects.exists()
    assert FilteredCount.objects.get().count == 1


@pytest.mark.scale
def test_scenario_17_the_five_hundred_and_first_error_takes_the_place_of_the_oldest(
    client: McpClient, house: House, path: str
) -> None:
    client.call("error_record", message="error ")
    # Through the API, which takes many at once.
    between = [{"message": f"error {'x' * number}"} for number in range(1, 500)]
    for some in batched(between, MOST_ERRORS):
        house.api.call("POST", f"/projects/{project_of(house, path)}/errors", {"errors": some})
    client.call("error_record", message=f"error {'x' * 500}")
    kept = client.call("session_store", action="load", namespace="errors", key="history")["stored"]["value"]["errors"]
    messages = {error["message"] for error in kept}
    assert (len(messages), "error " in messages, f"error {'x' * 500}" in messages) == (500, False, True)


def test_scenario_18_errors_unseen_for_thirty_days_are_gone(near: McpClient) -> None:
    old = near.call("error_record", message="old")["fingerprint"]
    near.call("error_record", message="young")
    seen = now() - timedelta(days=31)
    ErrorReport.objects.filter(fingerprint=old).update(first_seen=seen, last_seen=seen)
    assert [error["message"] for error in context(near)["errors"]["unresolved"]] == ["young"]


TODOS = [{"content": "Task description", "status": "in_progress", "activeForm": "Working on task"}]
STATE = {"working_notes": "Current focus areas", "context_summary": "What I was working on"}


def test_pattern_1_save_state_and_pattern_2_restore_state(client: McpClient) -> None:
    client.call("ai_state_save", ai_id="claude", todos=TODOS, **STATE)
    found = client.call("ai_state_get", ai_id="claude")["stored"]
    assert (found["ai_id"], found["todos"], found["updated_at"] != "") == ("claude", TODOS, True)
    assert {name: found[name] for name in STATE} == STATE


def test_pattern_3_transfer_between_sessions(client: McpClient) -> None:
    client.call("ai_state_save", ai_id="claude", todos=TODOS, session_id="s_pjcc", **STATE)
    client.call("ai_state_save", ai_id="gemini", working_notes="another", session_id="s_pjcc")
    moved = client.call("ai_state_transfer", from_session="s_pjcc", to_session="s_newid", ai_id="claude")
    found = client.call("ai_state_get", ai_id="claude", session_id="s_newid")["stored"]
    assert (found["todos"], found["transferred_from"]) == (TODOS, moved["from_session"])
    assert found["transferred_at"]
    listed = client.call("ai_state_list", session_id="s_pjcc")["stored"]["items"]
    assert [state["ai_id"] for state in listed] == ["claude", "gemini"]
