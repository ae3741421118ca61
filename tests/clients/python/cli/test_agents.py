"""`stillhere mcp`: an agent at standard input and output, its messages forwarded to a server."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from stillhere import Client
from stillhere.cli.mcp import Bridge
from tests.browser.driving import wait_for
from tests.clients.python.cli.conftest import RUN
from tests.clients.python.conftest import PROJECT, SOURCE
from tests.clients.python.gate import Gate
from tests.support.live_server import LiveServer

NESTED = b"[" * 70 + b"]" * 70
STATELESS = b'{"_meta": {"io.modelcontextprotocol/protocolVersion": "%s"}}'


def test_an_agent_is_served(environment: dict[str, str], gate: Gate, client: Client) -> None:
    """Through the command itself, with the server away for a moment."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = {"name": "session_save", "arguments": {"messages": [{"role": "user", "text": "From an agent"}]}}
    settings = {**environment, "STILLHERE_URL": gate.url, "PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", RUN, "mcp", "--agent", "tester"]
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env=settings, text=True, **pipes) as process:

        def ask(number: int, method: str, params: Any) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            print(
                json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}), file=process.stdin, flush=True
            )
            return json.loads(process.stdout.readline())

        assert ask(1, "initialize", hello)["result"]["serverInfo"]["name"]
        assert "session_save" in {each["name"] for each in ask(2, "tools/list", {})["result"]["tools"]}
        gate.away = True
        assert "does not answer" in ask(3, "tools/call", call)["error"]["message"]
        gate.away = False
        assert not ask(4, "tools/call", call)["result"].get("isError")
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.close()
        assert process.wait(30) == 0
        assert process.stderr.read() == ""  # Nobody else writes the memory.
    resumed = client.resume()
    assert resumed is not None
    assert [each.text for each in resumed.messages] == ["From an agent"]


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_silent_server_does_not_hold_an_agent_that_is_told_to_end(
    environment: dict[str, str], gate: Gate, number: signal.Signals
) -> None:
    settings = {**environment, "STILLHERE_URL": gate.url, "PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"]}
    call = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n'
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", RUN, "mcp"], env=settings, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(call)
        process.stdin.flush()
        assert process.stdout.readline()
        gate.silent, known = True, len(gate.seen)
        process.stdin.write(call)
        process.stdin.flush()
        wait_for(lambda: len(gate.seen) > known)
        process.send_signal(number)
        try:
            assert process.wait(20) == 128 + number
        finally:
            gate.silent = False
            process.kill()


@pytest.fixture
def said(server: LiveServer, secret: str, client: Client) -> Callable[..., list[Any]]:
    """What an agent reads after its lines. `away`: below the server's address, where nothing of it is."""
    client.get_project()

    def said(*lines: bytes, away: str = "") -> list[Any]:
        output = io.BytesIO()
        with httpx.Client(base_url=server.url + away, headers={"Authorization": f"Bearer {secret}"}) as http:
            Bridge(http, SimpleNamespace(id=None), PROJECT, output).serve(lines)  # type: ignore[arg-type]
        return [json.loads(line) for line in output.getvalue().splitlines()]

    return said


def asked(params: bytes = b"{}", *, method: str = "tools/list") -> bytes:
    return b'{"jsonrpc": "2.0", "id": 7, "method": %s, "params": %s}' % (json.dumps(method).encode(), params)


@pytest.mark.parametrize(
    ("line", "own_id"),
    [
        pytest.param(b"[" * 100_000, None, id="no JSON"),
        pytest.param(asked(b'{"a": %s}' % NESTED), 7, id="nested too deeply"),
        pytest.param(asked(b'{"a": NaN}'), 7, id="no number"),
        pytest.param(asked(STATELESS % b"2026-07-28", method="tools/\ud800"), 7, id="half a character"),
        pytest.param(asked(STATELESS % b"2026-\\u00e9"), 7, id="a version that is no header"),
        pytest.param(asked(STATELESS % b"2026\\r\\na: b"), 7, id="a version of two lines"),
    ],
)
def test_what_cannot_be_done_is_answered_by_its_own_id(said: Callable[..., list[Any]], line: bytes, own_id: int | None) -> None:
    """Else the agent would wait for ever."""
    (answer,) = said(line)
    assert answer["id"] == own_id
    assert "does not answer" not in answer["error"]["message"]


def test_a_refusal_is_not_said_to_be_an_absent_server(said: Callable[..., list[Any]]) -> None:
    (large,) = said(asked(b'{"a": "%s"}' % (b"x" * 6_000_000)))
    assert "HTTP 413" in large["error"]["message"]
    (elsewhere,) = said(asked(), away="/nowhere")
    assert "is no Stillhere server" in elsewhere["error"]["message"]
    assert not any("does not answer" in each["error"]["message"] for each in (large, elsewhere))


def test_an_answer_that_is_cut_off_after_its_progress_is_an_error() -> None:
    events = b'data: {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1}}\n\n'
    cut = httpx.MockTransport(lambda _: httpx.Response(200, headers={"content-type": "text/event-stream"}, content=events))
    output = io.BytesIO()
    with httpx.Client(base_url="http://localhost", transport=cut) as http:
        Bridge(http, SimpleNamespace(id=None), PROJECT, output).serve([asked()])  # type: ignore[arg-type]
    progress, answer = map(json.loads, output.getvalue().splitlines())
    assert progress["method"] == "notifications/progress"
    assert (answer["id"], "does not answer" in answer["error"]["message"]) == (7, True)


def test_a_project_by_its_id_needs_no_server_at_the_start(environment: dict[str, str], client: Client, gate: Gate) -> None:
    project = client.get_project().id
    settings = {"PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"], **environment}
    settings |= {"STILLHERE_URL": gate.url, "STILLHERE_PROJECT": project}
    gate.away = True
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", RUN, "mcp"], env=settings, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(asked() + b"\n")
            process.stdin.flush()
            assert "does not answer" in json.loads(process.stdout.readline() or b'{"error": {"message": ""}}')["error"]["message"]
            gate.away = False
            process.stdin.write(asked() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["result"]["tools"]
        finally:
            process.stdin.close()
            process.wait(30)


@pytest.mark.slow
def test_a_silent_server_does_not_hold_an_agent_whose_input_ends(environment: dict[str, str], gate: Gate) -> None:
    """It would hold the lease of the project's memory as long."""
    settings = {**environment, "STILLHERE_URL": gate.url, "PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"]}
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", RUN, "mcp"], env=settings, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(asked() + b"\n")
            process.stdin.flush()
            assert process.stdout.readline()
            gate.silent, known = True, len(gate.seen)
            process.stdin.write(asked() + b"\n")
            process.stdin.flush()
            wait_for(lambda: len(gate.seen) > known)
            process.stdin.close()
            assert process.wait(25) == 0
        finally:
            gate.silent = False
            process.kill()
