"""P7: time from a save until many sockets have its event, and the server's memory per idle socket."""

import asyncio
import itertools
import time
from dataclasses import dataclass
from statistics import quantiles

from benchmarks.support.http_client import without_gc
from benchmarks.support.paced_requests import Saver
from benchmarks.support.sample_sizes import WARM_UP, Plan
from benchmarks.support.sides import Stillhere
from benchmarks.support.sockets import HOLD_SECONDS, allowed_sockets, closing, listen, resident_kb, run
from benchmarks.support.table import Row

P99_MS = {100: 15, 1_000: 50}
SOCKET_KB = 30
PATIENCE_SECONDS = 20
FEW_SOCKETS = 8


def events(plan: Plan) -> list[Row]:
    counts = {allowed_sockets(max(2, count // plan.fewer)): goal for count, goal in P99_MS.items()}
    # A separate server: sockets would reuse memory that other measurements had freed.
    with Stillhere() as side:
        found = run(_measure(side, list(counts), plan.requests))
    rows = [
        _row(f"save → event at {count:,} sockets, p99", p99 * 1000, goal, "ms")
        for (count, goal), p99 in zip(counts.items(), found.p99, strict=True)
    ]
    return [*rows, _row(f"memory of an idle socket, {max(counts):,} of them", found.socket_kb, SOCKET_KB, "KB")]


def _row(what: str, figure: float, goal: float, unit: str) -> Row:
    return Row("P7", what, figure, goal, "goal", unit, 1.0, at_most=True)


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds for each number of sockets, and the memory per socket at the last number."""

    p99: list[float]
    socket_kb: float


class _Round:
    """Arrivals of one event."""

    def __init__(self) -> None:
        self.arrived: list[float] = []
        self.missing = 0
        self.all = asyncio.Event()

    def begin(self, missing: int) -> None:
        self.arrived, self.missing = [], missing
        self.all.clear()

    def hear(self, _: bytes, now: float) -> None:
        self.arrived.append(now)
        self.missing -= 1
        if self.missing == 0:
            self.all.set()


async def _measure(side: Stillhere, counts: list[int], saves: int) -> Found:
    [session] = side.new_sessions(1)
    saver, heard = await Saver.connect(side.port), _Round()
    await _warm_up(side, saver, session)
    empty, p99 = resident_kb(side.server.pid), []
    for count in counts:
        with closing(await listen(side.port, side.calls.key, side.calls.project_of(session), count, heard.hear)):
            await asyncio.sleep(HOLD_SECONDS)
            full = resident_kb(side.server.pid)
            with without_gc():
                took = [await _broadcast(saver, side.save(session), heard, count) for _ in range(WARM_UP + saves)]
        p99.append(quantiles(itertools.chain.from_iterable(took[WARM_UP:]), n=100)[98])
    saver.close()
    return Found(p99, (full - empty) / counts[-1])


async def _broadcast(saver: Saver, save: bytes, heard: _Round, count: int) -> list[float]:
    """Seconds until each socket had the event, from sending the save."""
    heard.begin(count)
    began = time.perf_counter()
    await saver.send(save)
    await asyncio.wait_for(heard.all.wait(), PATIENCE_SECONDS)
    return [arrived - began for arrived in heard.arrived]


async def _warm_up(side: Stillhere, saver: Saver, session: str) -> None:
    """Warms up: the first sockets and saves create threads, connections and statements, which do not belong to a socket."""
    project = side.calls.project_of(session)
    with closing(await listen(side.port, side.calls.key, project, FEW_SOCKETS, lambda _frame, _now: None)):
        for _ in range(WARM_UP):
            await saver.send(side.save(session))
