"""`manage.py mcp`: an agent at standard input and output, and the lease of its run."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.mcp.mcp_client import call_every_tool, tool_call
from tests.mcp.stdio_agent import PATIENCE_SECONDS, Agent, agent_process
from tests.support.server_process import ROOT, ServerProcess
from tests.support.stores import Store

# Each test starts processes, which takes seconds on an idle machine.
pytestmark = pytest.mark.timeout(300)
LEASE_SECONDS = 4
SAVE = {"action": "save", "namespace": "n", "key": "k", "data": {"a": "é\x00", "n": 2**70}}

type Begin = Callable[..., Any]


@pytest.fixture(scope="module")
def installed(first_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A store and its settings; no server."""
    with first_store.copied(tmp_path_factory.mktemp("stdio")) as store:
        yield ServerProcess(store)


@pytest.fixture
def begin(installed: ServerProcess) -> Begin:
    @contextmanager
    def begun(path: str, **changed: str) -> Iterator[Agent]:
        environment = installed.environment | {f"STILLHERE_{name}": value for name, value in changed.items()}
        with agent_process(command(path), environment) as agent:
            yield agent

    return begun


def command(path: str) -> list[str]:
    return [sys.executable, "manage.py", "mcp", "--project", path, "--user", "ana", "--agent", "tester"]


@pytest.mark.slow
def test_every_tool_is_called_by_the_official_client(installed: ServerProcess, tmp_path: Path) -> None:
    told = StdioServerParameters(command=sys.executable, args=command(str(tmp_path))[1:], env=installed.environment, cwd=ROOT)
    results: dict[str, Any] = {}

    async def at_work() -> None:
        async with Client(stdio_client(told), mode="legacy") as client:
            loop = asyncio.get_running_loop()

            def call(name: str, arguments: dict[str, Any]) -> Any:
                answer = asyncio.run_coroutine_threadsafe(client.call_tool(name, arguments), loop).result(PATIENCE_SECONDS)
                results[name] = answer.model_dump(mode="json", by_alias=True)
                return results[name]

            await asyncio.to_thread(call_every_tool, call)

    asyncio.run(at_work())
    assert results["session_brief"]["structuredContent"]["stored"]


@pytest.mark.slow
def test_the_official_client_and_a_second_process_beside_it(installed: ServerProcess, begin: Begin, tmp_path: Path) -> None:
    path = str(tmp_path)
    told = StdioServerParameters(command=sys.executable, args=command(path)[1:], env=installed.environment, cwd=ROOT)

    async def at_work(second: Any) -> Agent:
        async with Client(stdio_client(told), mode="legacy") as client:
            assert len((await client.list_tools()).tools) == 16
            assert not (await client.call_tool("session_store", SAVE)).is_error
            agent: Agent = second.__enter__()
            loaded = agent.call("session_store", action="load", namespace="n", key="k")
            assert loaded["stored"]["value"] == {"a": "é\ufffd", "n": 2**70}
            refused = agent.call("session_store", **SAVE)["error"]
            assert (refused["code"], refused["details"]["holder"]["agent"]) == ("lease_held", "tester")
        return agent

    second = begin(path)
    try:
        agent = asyncio.run(at_work(second))
        # The first one's input was closed, so its run has ended, long before its lease would have.
        assert agent.call("session_store", **SAVE)["action"] == "save"
        said, beside = agent.end()
        assert (said, "Another run (tester) is the writer" in beside) == (b"", True)
    finally:
        second.__exit__(None, None, None)


@pytest.mark.slow
def test_the_lease_of_a_killed_process_ends_and_a_told_one_ends_by_itself(
    installed: ServerProcess, begin: Begin, tmp_path: Path
) -> None:
    path, short = str(tmp_path), {"LEASE_SECONDS": str(LEASE_SECONDS)}
    with begin(path, **short) as killed:
        assert killed.call("session_store", **SAVE)["action"] == "save"
        begun_at = time.monotonic()
        with begin(path, **short) as second:
            # For longer than the lease lasts without a heartbeat.
            refused = second.call("session_store", **SAVE)
            while time.monotonic() < begun_at + LEASE_SECONDS + 1:
                refused = second.call("session_store", **SAVE)
            assert refused["error"]["code"] == "lease_held"
            killed.process.kill()
            killed.process.wait()
            deadline = time.monotonic() + LEASE_SECONDS + PATIENCE_SECONDS
            while "error" in (answer := second.call("session_store", **SAVE)):
                assert answer["error"]["code"] == "lease_held"
                assert time.monotonic() < deadline
            assert answer["action"] == "save"
            second.process.send_signal(signal.SIGTERM)
            assert second.process.wait(PATIENCE_SECONDS) == 0
            assert second.process.stdout.read() == b""
    ended = f"Run.objects.filter(project__path={path!r}).order_by('number').values_list('ended_at', flat=True)"
    assert installed.shell(f"from memory_app.models import Run; print([at is not None for at in {ended}])") == "[False, True]"


def test_what_the_library_cannot_read_is_answered_too(begin: Begin, tmp_path: Path) -> None:
    """A client waits for the answer of each request that it sent, for ever if none comes."""
    ping = {"jsonrpc": "2.0", "method": "ping"}
    wrong = (
        ([{**ping, "id": 2}], None, -32600),
        ({**ping, "id": 1.5}, None, -32600),
        ({**ping, "id": None}, None, -32600),
        ({"id": 3, "method": "ping"}, 3, -32600),
        ({**ping, "id": 4, "params": [1]}, 4, -32600),
        ({"jsonrpc": "2.0", "id": "5"}, "5", -32600),
        (7, None, -32600),
    )
    with begin(str(tmp_path)) as agent:
        for message, given, code in wrong:
            answer = agent.answer(message)
            assert (answer["id"], answer["error"]["code"]) == (given, code), message
        arguments = {"action": "save", "namespace": "n", "key": "cut", "data": "half \ud83d"}
        assert agent.call("session_store", **arguments)["action"] == "save"
        agent.write(b"\nno JSON\n")
        assert agent.read()["error"]["code"] == -32700
        assert agent.answer({**ping, "id": 8})["id"] == 8
        assert agent.end()[0] == b""


def test_what_was_asked_before_the_input_ended_is_answered(begin: Begin, tmp_path: Path) -> None:
    """As by a program that writes its calls and closes the pipe: an error would say that nothing was done."""
    with begin(str(tmp_path)) as agent:
        for number in range(5):
            arguments = {"messages": [{"id": f"m{number}", "role": "user", "text": "kept"}]}
            agent.write(json.dumps({**tool_call("session_save", arguments)["json"], "id": number}).encode() + b"\n")
        said, _ = agent.end()
    answers = [json.loads(line) for line in said.splitlines()]
    assert sorted(answer["id"] for answer in answers) == [0, 1, 2, 3, 4]
    assert all("applied" in answer.get("result", {}).get("structuredContent", {}) for answer in answers), answers
