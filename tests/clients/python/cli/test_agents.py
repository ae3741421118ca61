"""`stillhere mcp`: an agent at standard input and output, its messages forwarded to a server."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from stillhere import Client
from tests.browser.driving import wait_for
from tests.clients.python.cli.conftest import RUN
from tests.clients.python.conftest import SOURCE
from tests.clients.python.gate import Gate


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
