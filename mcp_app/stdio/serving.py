"""One agent at standard input and output: requests in, answers out, until the input ends or the process is told to end."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from mcp_app.core.asked import Asked
from mcp_app.core.calls import Call
from mcp_app.protocol.server import make_server
from mcp_app.stdio.last_answers import Answers, OpenRequests
from mcp_app.stdio.lines import Lines
from mcp_app.stdio.sound_lines import SoundLines
from sessions_app.core.serialization import strict_json
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.storage.database_threads import DatabaseThreads

STANDARD_INPUT = 0
THREADS = 2


@dataclass(frozen=True, slots=True)
class Connection:
    """The one that a process has."""

    call: Call
    submit: Callable[[Callable[[], Any]], "Future[Any]"]

    def asked(self, params: Mapping[str, Any] | None) -> Asked:
        message, _ = strict_json.loads(json_text({"params": dict(params or {})}).encode())
        return Asked(self.call, message, self.submit, lambda tool: None)


def serve(call: Call, version: str, *, notice: str = "") -> None:
    """Returns after the last answer. `notice`: what the agent has to know besides. Nothing else may write to standard output."""
    threads = DatabaseThreads(THREADS, "mcp")

    @asynccontextmanager
    async def connected(server: Server[Any]) -> AsyncIterator[Connection]:
        yield Connection(call, threads.submit)

    try:
        asyncio.run(_serve(make_server(version, notice=notice, lifespan=connected)))
    finally:
        threads.close()


async def _serve(server: Server[Any]) -> None:
    lines = Lines(STANDARD_INPUT)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lines.end)
    requests = OpenRequests()
    sound = SoundLines(lines, requests)
    async with stdio_server(stdin=sound) as (reading, writing):  # type: ignore[arg-type]
        sound.send.set_result(writing.send)
        await server.run(reading, Answers(writing, requests), server.create_initialization_options())
