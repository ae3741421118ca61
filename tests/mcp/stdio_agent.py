"""A process of `manage.py mcp` and the agent at its standard input and output."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.mcp.mcp_client import request, tool_call
from tests.support.server_process import ROOT

PATIENCE_SECONDS = 30


class Agent:
    """Plain lines. `kill`, `wait` and others are the process's."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of the answer."""
        found: dict[str, Any] = self.answer(tool_call(tool, arguments)["json"])["result"]["structuredContent"]
        return found

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.answer(request(method, params)["json"])

    def answer(self, message: Any) -> dict[str, Any]:
        self.write(json.dumps(message).encode() + b"\n")
        return self.read()

    def write(self, lines: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(lines)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next line of its output."""
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def end(self) -> tuple[bytes, str]:
        """Closes its input: what it still said, on both outputs."""
        said, beside = self.process.communicate(timeout=PATIENCE_SECONDS)
        assert self.process.returncode == 0, beside
        return said, beside.decode()


@contextmanager
def agent_process(command: list[str], environment: dict[str, str]) -> Iterator[Agent]:
    """Killed at the end, if it still runs."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield Agent(process)
        finally:
            process.kill()
