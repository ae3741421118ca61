"""The ways in which the client's connections are used."""

import asyncio
import time

import pytest

from stillhere.http.answers import Answer
from stillhere.http.shared_wires import SharedWires
from stillhere.http.wires import AsyncWires, Server, Wires

THREADS, COROUTINES, ANY_LOOP = "threads", "coroutines", "coroutines of any loop"
each_kind = pytest.mark.parametrize("kind", [THREADS, COROUTINES, ANY_LOOP])


def answers(
    server: Server,
    kind: str,
    times: int = 1,
    *,
    method: str = "GET",
    body: bytes | None = None,
    timeout: float = 10,
    pause: float = 0,
) -> list[Answer]:
    """Those to so many requests, one after the other, by one client."""
    if kind == COROUTINES:
        return asyncio.run(_in_one_loop(server, times, method, body, timeout, pause))
    wires = SharedWires(server, timeout) if kind == ANY_LOOP else Wires(server, timeout)
    found = []
    try:
        for _ in range(times):
            if isinstance(wires, SharedWires):
                assert wires.serve_loops
                found.append(asyncio.run(wires.asend(method, "/x", {}, body)))
            else:
                found.append(wires.send(method, "/x", {}, body))
            time.sleep(pause)
    finally:
        wires.close()
    return found


async def _in_one_loop(server: Server, times: int, method: str, body: bytes | None, timeout: float, pause: float) -> list[Answer]:
    wires, found = AsyncWires(server, timeout), []
    try:
        for _ in range(times):
            found.append(await wires.send(method, "/x", {}, body))
            await asyncio.sleep(pause)
    finally:
        await wires.close()
    return found
