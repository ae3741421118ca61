"""`manage.py mcp --url`: one agent at standard input and output, on a remote server."""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from django.core.management import CommandError, call_command
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import INVALID_REQUEST, PARSE_ERROR

from mcp_app.protocol.quick_calls import STATELESS, VERSION
from mcp_app.stdio.bridge import Bridge
from tests.mcp.mcp_client import HANDSHAKE, request
from tests.mcp.stdio_agent import PATIENCE_SECONDS, Agent, agent_process
from tests.support.server_process import ROOT, ServerProcess, free_port
from tests.support.sockets import House
from tests.support.stores import Store

# Each test starts processes, which takes seconds on an idle machine.
pytestmark = [pytest.mark.once, pytest.mark.timeout(300)]
SAVE = {"action": "save", "namespace": "n", "key": "k", "data": {"a": "é", "n": 2**70}}
LOAD = {"action": "load", "namespace": "n", "key": "k"}
LEASE_SECONDS = 3
# Unless its operator sets another.
SERVERS_LEASE_SECONDS = 30

type Begin = Callable[..., AbstractContextManager[Agent]]


def command(url: str, path: str) -> list[str]:
    return [sys.executable, "manage.py", "mcp", "--project", path, "--url", url, "--agent", "tester"]


def environment(folder: Path, key: str, **more: str) -> dict[str, str]:
    """Of another machine: nothing of the server's."""
    return {"STILLHERE_DATA_DIR": str(folder), "STILLHERE_KEY": key, "STILLHERE_LEASE_SECONDS": str(LEASE_SECONDS), **more}


def said_at_its_end(agent: Agent) -> str:
    _, beside = agent.process.communicate(timeout=PATIENCE_SECONDS)
    return str(beside.decode())


@pytest.fixture
def begin(house: House, path: str, tmp_path: Path) -> Begin:
    def begun(url: str = house.server.url, key: str = house.key) -> AbstractContextManager[Agent]:
        return agent_process(command(url, path), environment(tmp_path, key))

    return begun


def test_a_line_that_is_nested_too_deeply_is_answered(capfd: pytest.CaptureFixture[str]) -> None:
    nobody: Any = None
    asyncio.run(Bridge(nobody, nobody, "", "")._answer("[" * 100_000))
    assert json.loads(capfd.readouterr().out)["error"]["code"] == PARSE_ERROR


@pytest.mark.parametrize(
    ("method", "version"), [("tools/\ud800", STATELESS), ("tools/list", "2026-é"), ("tools/list", "2026\r\na: b")]
)
def test_what_no_header_can_have_is_refused(house: House, capfd: pytest.CaptureFixture[str], method: str, version: str) -> None:
    """Its headers name both. Without an answer the agent would wait for ever."""
    nobody: Any = SimpleNamespace(id=None)
    line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"_meta": {VERSION: version}}})
    asyncio.run(Bridge(httpx.AsyncClient(base_url=house.server.url), nobody, "", "")._answer(line))
    answer = json.loads(capfd.readouterr().out)
    assert (answer["id"], answer["error"]["code"]) == (7, INVALID_REQUEST)


def test_the_official_client_and_a_second_process_that_takes_over(house: House, begin: Begin, path: str, tmp_path: Path) -> None:
    told = StdioServerParameters(
        command=sys.executable, args=command(house.server.url, path)[1:], env=environment(tmp_path, house.key), cwd=ROOT
    )

    async def at_work() -> None:
        async with Client(stdio_client(told), mode="legacy") as client:
            assert len((await client.list_tools()).tools) == 16
            assert not (await client.call_tool("session_store", SAVE)).is_error
            second = waiting.enter_context(begin())  # After the first one's run.
            agents.append(second)
            hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
            begun = second.answer(request("initialize", hello, version=HANDSHAKE)["json"])
            assert "Another run is the writer" in begun["result"]["instructions"]
            assert second.call("session_store", **LOAD)["stored"]["value"] == SAVE["data"]
            assert second.call("session_store", **SAVE)["error"]["code"] == "lease_held"

    agents: list[Agent] = []
    with ExitStack() as waiting:
        asyncio.run(at_work())
        [second] = agents
        # The first one's input was closed, so its run has ended.
        assert second.call("session_store", **SAVE)["action"] == "save"
        said, _ = second.end()
        assert said == b""


@pytest.mark.prove
def test_the_lease_of_a_killed_process_is_free_within_30_seconds(begin: Begin) -> None:
    with begin() as killed, begin() as second:
        assert killed.call("session_store", **SAVE)["action"] == "save"
        assert second.call("session_store", **SAVE)["error"]["code"] == "lease_held"
        killed.process.kill()
        killed.process.wait()
        began = time.monotonic()
        while "error" in (answer := second.call("session_store", **SAVE)):
            assert answer["error"]["code"] == "lease_held"
            assert time.monotonic() - began < SERVERS_LEASE_SECONDS + 2
            time.sleep(0.5)
        assert answer["action"] == "save"


@pytest.mark.slow
def test_the_key_is_not_an_argument_and_a_missing_or_wrong_one_is_said(begin: Begin, house: House) -> None:
    with begin() as agent:
        assert agent.ask("tools/list")["result"]["tools"]
        seen = Path(f"/proc/{agent.process.pid}/cmdline")
        assert house.key.encode() not in seen.read_bytes() if seen.exists() else True
        agent.end()
    for key, said in (("", "Set STILLHERE_KEY"), ("sh_wrong", "key")):
        with begin(key=key) as refused:
            assert said in said_at_its_end(refused)
            assert refused.process.returncode == 1


@pytest.mark.slow
def test_other_versions_names_and_progress_pass_through(begin: Begin, path: str) -> None:
    with begin() as agent:
        found = agent.ask("resources/read", {"uri": f"stillhere://project/{path.replace('/', '%2F')}/context"})
        assert found["result"]["contents"]
        assert agent.ask("tools/burn")["error"]["code"] == -32601
        params = {"name": "session_search", "arguments": {"query": "none", "project": "*"}, "_meta": {"progressToken": "t"}}
        first = agent.answer(request("tools/call", params)["json"])
        assert first["method"] == "notifications/progress"
        agent.end()


@pytest.mark.slow
def test_a_server_that_is_away_is_an_error_that_says_what_to_do_and_the_agent_goes_on(
    store: Store, path: str, tmp_path: Path
) -> None:
    server = ServerProcess(store, LEASE_SECONDS=str(LEASE_SECONDS))
    server.start()
    try:
        with agent_process(command(server.url, path), environment(tmp_path / "agent", server.key("ana"))) as agent:
            assert agent.call("session_store", **SAVE)["action"] == "save"
            server.kill()
            away = agent.call("session_store", **SAVE)["error"]
            assert (away["code"], "repeat this call" in away["message"]) == ("server_away", True)
            assert "does not answer" in agent.ask("tools/list")["error"]["message"]
            server.start()
            assert agent.call("session_store", **LOAD)["stored"]["value"] == SAVE["data"]
            until_saved(agent)
            agent.end()
    finally:
        server.stop()


@pytest.mark.slow
def test_a_process_whose_server_is_away_from_the_start_begins_its_run_later(store: Store, path: str, tmp_path: Path) -> None:
    server = ServerProcess(store, LEASE_SECONDS=str(LEASE_SECONDS))
    with agent_process(command(server.url, path), environment(tmp_path / "agent", server.key("ana"))) as agent:
        assert agent.call("session_brief")["error"]["code"] == "server_away"
        with server:
            until_saved(agent)
            runs = "from memory_app.models import Run; print(list(Run.objects.values_list('agent', flat=True)))"
            deadline = time.monotonic() + PATIENCE_SECONDS
            while server.shell(runs) != "['tester']":
                assert time.monotonic() < deadline
            agent.end()


@pytest.mark.slow
def test_nothing_is_listening(begin: Begin) -> None:
    with begin(url=f"http://127.0.0.1:{free_port()}") as agent:
        said, _ = agent.process.communicate(b"no json\n", timeout=PATIENCE_SECONDS)
        assert b"-32700" in said
        assert agent.process.returncode == 0


def until_saved(agent: Agent) -> None:
    """A run that lost its lease meanwhile gets it back with its next heartbeat."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while "error" in (answer := agent.call("session_store", **SAVE)):
        assert time.monotonic() < deadline, answer


def test_a_user_is_of_this_store_alone() -> None:
    with pytest.raises(CommandError, match="--user is for this store"):
        call_command(*command("http://127.0.0.1:1", ".")[2:], "--user", "ana")
