"""P8, P9 and the times of runs: a project's memory through HTTP, with many projects of 10 MB in the store. Each
figure has its limit beside it."""

import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import median
from typing import Any

from benchmarks.seeding.memory_seed import TEXTS
from benchmarks.support.http_client import Wire, request_bytes, without_gc
from benchmarks.support.latencies import median_ms
from benchmarks.support.sample_sizes import Plan
from benchmarks.support.sides import Stillhere, filled, kept
from benchmarks.support.table import Row

FEW = 30
ENDED_ENTRIES, ENDED_ERRORS = 50, 100
MOST_OPS = 500


@dataclass(frozen=True, slots=True)
class Memory:
    """The first of the seeded projects."""

    side: Stillhere
    project: str

    def request(self, method: str, rest: str, body: Any = None, **headers: str) -> bytes:
        content = b"" if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        return request_bytes(method, f"/api/v1/projects/{self.project}/{rest}", self.side.calls.headers | headers, content)


@cache
def serve_memory(projects: int, what: str) -> Memory:
    """A server for all that measures `what`."""
    seeded = filled("-m", "benchmarks.seeding.memory_seed", "bench", str(projects))
    return Memory(kept(Stillhere(seeded)), json.loads(seeded.said)[0])


def context(plan: Plan) -> list[Row]:
    """load_session_context, first as a full response, then unchanged (304)."""
    memory = serve_memory(plan.projects, "entries")
    asked = memory.request("GET", "context")
    wire = Wire(memory.side.port)
    known = memory.request("GET", "context", **{"If-None-Match": wire.etag(asked)})
    wire.close()
    whole, unchanged = median_ms(memory.side.port, [partial(bytes, asked), partial(bytes, known)], plan)
    return [
        _row("P8", f"context of a project of 10 MB, {plan.projects} of them", whole, 25),
        _row("P8", "the same, unchanged: 304", unchanged, 3),
    ]


def entries(plan: Plan) -> list[Row]:
    """Saves and loads an entry. Every save has a different value."""
    rows = []
    memory = serve_memory(plan.projects, "entries")
    for what, size, limits in (("1 KB", 1_000, (5, 2)), ("1 MB", 990_000, (40, 15))):
        place = f"memory/bench/of-{size}"
        save, load = _saves(memory, place, size), memory.request("GET", place)
        took = median_ms(memory.side.port, [save, partial(bytes, load)], plan)
        acts = zip(("save", "load"), took, limits, strict=True)
        rows += [_row("P9", f"{act} an entry of {what}", figure, limit) for act, figure, limit in acts]
    return [*rows, *_beside_others(memory, plan)]


def _beside_others(memory: Memory, plan: Plan) -> list[Row]:
    """An entry beside a save of a message, and a batch of 500 beside one of one."""
    [session] = memory.side.new_sessions(1)
    sources: list[Callable[[], bytes]] = [partial(memory.side.save, session), _saves(memory, "memory/bench/beside", 1_000)]
    # The seeded projects are full: a batch of 500 new entries needs one with room.
    roomy = replace(memory, project=_new_project(memory))
    sources += [partial(_batch, roomy, size) for size in (1, MOST_OPS)]
    save, entry, one, many = median_ms(memory.side.port, sources, plan)
    return [
        Row("P9", "save an entry of 1 KB, beside a save", entry, save, "save", "ms", 1.5, at_most=True),
        Row("P9", f"a batch of {MOST_OPS} puts, beside one of 1", many, one, "batch of 1", "ms", 10, at_most=True),
    ]


def _new_project(memory: Memory) -> str:
    wire = Wire(memory.side.port)
    body = json.dumps({"path": "/bench/batches"}).encode()
    made = json.loads(wire.send(request_bytes("POST", "/api/v1/projects", memory.side.calls.headers, body)))
    wire.close()
    return str(made["id"])


def _batch(memory: Memory, size: int) -> bytes:
    value = {"text": TEXTS[0][:200], "at": time.perf_counter()}
    ops = [{"op": "put", "namespace": ["bench", str(at % 5)], "key": str(at), "value": value} for at in range(size)]
    return memory.request("POST", "memory/batch", {"ops": ops})


def _saves(memory: Memory, place: str, size: int) -> Callable[[], bytes]:
    value = values_of(size)
    return lambda: memory.request("PUT", place, value())


def values_of(size: int) -> Callable[[], dict[str, Any]]:
    """Each value is another one, of so many bytes as JSON."""
    text = "".join(TEXTS * (size // sum(map(len, TEXTS)) + 1)).encode()[: size - 100].decode(errors="ignore")
    numbers = itertools.count()
    return lambda: {"text": text, "number": next(numbers)}


def runs(plan: Plan) -> list[Row]:
    """Starts an agent's run, ends it with a final flush, and measures a step of pruning."""
    memory = serve_memory(plan.projects, "runs")
    wire = Wire(memory.side.port)
    started, ended = [], []
    with without_gc():
        for number in range(min(FEW, plan.requests)):
            began = time.perf_counter()
            answer = wire.send(memory.request("POST", "runs", {"agent": "bench"}))
            started.append((time.perf_counter() - began) * 1000)
            end = memory.request("POST", f"runs/{json.loads(answer)['run_id']}/end", _held(number))
            ended.append(wire.seconds(end) * 1000)
    wire.close()
    steps: list[float] = json.loads(memory.side.server.run("-m", "benchmarks.seeding.memory_seed", "--prune"))
    return [
        _row("RUNS", "start a run", median(started), 100),
        _row("RUNS", f"end one with {ENDED_ENTRIES} entries (1 MB) and {ENDED_ERRORS} errors", median(ended), 500),
        _row("RUNS", f"the longest of {len(steps)} steps of pruning", max(steps), 100),
    ]


def _held(number: int) -> dict[str, Any]:
    page = "".join(TEXTS[:18])
    written = [{"namespace": "held", "key": str(at), "value": [number, page]} for at in range(ENDED_ENTRIES)]
    return {"entries": written, "errors": [{"message": f"{TEXTS[at % len(TEXTS)][:200]}"} for at in range(ENDED_ERRORS)]}


def _row(name: str, what: str, took: float, limit: float) -> Row:
    return Row(name, what, took, limit, "goal", "ms", 1.0, at_most=True)
