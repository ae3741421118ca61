"""P16 and P10b: calls of tools at `/mcp`, beside the same requests of the API on the same server, in turn."""

import asyncio
import itertools
import json
import os
import time
from collections.abc import Callable
from functools import partial
from statistics import quantiles
from typing import Any

from benchmarks.measurements.agents.memory import Memory, serve_memory, values_of
from benchmarks.support.http_client import Wire, request_bytes
from benchmarks.support.latencies import median_ms
from benchmarks.support.paced_requests import save_paced
from benchmarks.support.sample_sizes import Plan
from benchmarks.support.table import Row

HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {}}
NAMESPACE, FEW, MANY = "calls", 20, 20_000
MOST_OPS = 500
CLIENTS, CALLS_A_SECOND = 8, 200
TICK = os.sysconf("SC_CLK_TCK")


def mcp_calls(plan: Plan) -> list[Row]:
    memory = serve_memory(1, "mcp")
    rows = _beside_api(memory, plan)
    small, large = (_filled(memory, count) for count in (FEW, max(FEW, MANY // plan.fewer)))
    took = median_ms(memory.side.port, [*_calls(small, STATELESS), *_calls(large, STATELESS)], plan, check=_check)
    for act, before, after in zip(("save", "load"), took[:2], took[2:], strict=True):
        rows.append(
            Row("P10B", f"{act} 1 KB among {MANY:,} entries, beside {FEW}", after, before, "few", "ms", 1.5, at_most=True)
        )
    return [*rows, _paced(memory, plan)]


def _beside_api(memory: Memory, plan: Plan) -> list[Row]:
    value = values_of(1_000)
    put: Callable[[], bytes] = lambda: memory.request("PUT", f"memory/{NAMESPACE}/api", value())  # noqa: E731
    get = partial(bytes, memory.request("GET", f"memory/{NAMESPACE}/api"))
    sources: list[Callable[[], bytes]] = [put, get, *_calls(memory, STATELESS), *_calls(memory, HANDSHAKE)]
    put_ms, get_ms, *calls = median_ms(memory.side.port, sources, plan, check=_check)
    names = [f"{act} 1 KB, protocol {version}" for version in (STATELESS, HANDSHAKE) for act in ("save", "load")]
    rows = [
        Row("P16", name, took, beside, "API", "ms", 2, at_most=True)
        for name, took, beside in zip(names, calls, [put_ms, get_ms] * 2, strict=True)
    ]
    cpu = [_cpu(memory, source, plan) for source in sources[2:]]
    return [
        *rows,
        *(Row("P10B", f"CPU: {name}", took, 5, "goal", "ms", 1, at_most=True) for name, took in zip(names, cpu, strict=True)),
    ]


def _calls(memory: Memory, version: str) -> list[Callable[[], bytes]]:
    value = values_of(1_000)
    entry = {"namespace": NAMESPACE, "key": "mcp", "project": memory.project}
    load = _request(memory, {**entry, "action": "load"}, version)
    return [lambda: _request(memory, {**entry, "action": "save", "data": value()}, version), partial(bytes, load)]


def _request(memory: Memory, arguments: dict[str, Any], version: str) -> bytes:
    params: dict[str, Any] = {"name": "session_store", "arguments": arguments}
    headers = memory.side.calls.headers | {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}
    if version == STATELESS:
        params["_meta"] = META
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "session_store"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return request_bytes("POST", "/mcp", headers, json.dumps(body, ensure_ascii=False).encode())


def _filled(memory: Memory, count: int) -> Memory:
    """Another project on the same server, with so many entries."""
    wire = Wire(memory.side.port)
    path = json.dumps({"path": f"/bench/{count}"}).encode()
    made = json.loads(wire.send(request_bytes("POST", "/api/v1/projects", memory.side.calls.headers, path)))
    memory = Memory(memory.side, made["id"])
    for first in range(0, count, MOST_OPS):
        numbers = range(first, min(count, first + MOST_OPS))
        ops = [{"op": "put", "namespace": [NAMESPACE], "key": f"k{number}", "value": number} for number in numbers]
        wire.send(memory.request("POST", "memory/batch", {"ops": ops}))
    wire.close()
    return memory


def _check(answer: bytes) -> None:
    assert b'"isError":true' not in answer, answer[:300]  # noqa: S101


def _cpu(memory: Memory, source: Callable[[], bytes], plan: Plan) -> float:
    """Milliseconds of the server's processor a call."""
    wire, count = Wire(memory.side.port), plan.requests * 5
    before = _ticks(memory.side.server.pid)
    for _ in range(count):
        wire.send(source())
    wire.close()
    return (_ticks(memory.side.server.pid) - before) / TICK * 1000 / count


def _ticks(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _paced(memory: Memory, plan: Plan) -> Row:
    """The 99th percentile of calls that come at a fixed rate."""
    save, load = _calls(memory, STATELESS)
    every = CLIENTS / CALLS_A_SECOND
    count = max(4, int(plan.paced_seconds / every))

    async def run() -> list[float]:
        sources = [next(pair) for pair in itertools.repeat(itertools.cycle((save, load)), CLIENTS)]
        first = time.perf_counter() + 0.2
        paced = [
            save_paced(memory.side.port, source, first=first + every * at / CLIENTS, every=every, count=count)
            for at, source in enumerate(sources)
        ]
        return [took for done in await asyncio.gather(*paced) for took in done.took]

    took = asyncio.run(run())
    what = f"{CALLS_A_SECOND} calls a second by {CLIENTS} clients: p99"
    return Row("P10B", what, quantiles(took, n=100)[98] * 1000, 100, "goal", "ms", 1, at_most=True)
