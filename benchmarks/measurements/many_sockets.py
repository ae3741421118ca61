"""P12: thousands of idle sockets, and saves at a fixed rate meanwhile."""

import asyncio
import json
import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import quantiles

from benchmarks.measurements.speed import WRITERS
from benchmarks.support.http_client import WrongAnswer, without_gc
from benchmarks.support.paced_requests import Paced, save_paced
from benchmarks.support.sample_sizes import Plan
from benchmarks.support.sides import Stillhere, shared
from benchmarks.support.sockets import HOLD_SECONDS, Listener, allowed_sockets, closing, listen, run
from benchmarks.support.table import LATER, Row

SAVES_A_SECOND, P99_MS = 500, 250
PATIENCE_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds of each save and of each event, and how many of the expected ones arrived."""

    saves: list[float]
    events: list[float]
    open_sockets: int
    rate: float


def idle_sockets(plan: Plan) -> list[Row]:
    sockets, count = allowed_sockets(plan.sockets), int(plan.paced_seconds * SAVES_A_SECOND / WRITERS)
    found = run(_measure(shared(Stillhere), sockets, count))
    what = f"{sockets:,} idle sockets, {found.rate:.0f} saves/s"
    timed = [
        _row(f"{what}: {name}, p99", quantiles(took, n=100)[98] * 1000, P99_MS, "ms", at_most=True)
        for name, took in (("save", found.saves), ("save → event", found.events))
    ]
    return [
        *timed,
        _row(f"{what}: saves a second of those due", found.rate, SAVES_A_SECOND, "/s", at_most=False, limit=0.95),
        _row(f"{what}: events that arrived, in order", len(found.events), count * WRITERS, "", at_most=False),
        _row(f"{what}: sockets still open", found.open_sockets, sockets, "", at_most=False),
    ]


def _row(what: str, ours: float, goal: float, unit: str, *, at_most: bool, limit: float = 1.0) -> Row:
    return Row("P12", what, ours, goal, "goal", unit, limit, at_most, LATER)


class _Events:
    """The events that the listener of one writer's project receives."""

    def __init__(self) -> None:
        self.arrived: list[float] = []
        self._numbers: list[int] = []

    def hear(self, frame: bytes, now: float) -> None:
        self.arrived.append(now)
        self._numbers.append(json.loads(frame)["event_seq"])

    def check(self) -> None:
        if any(later != earlier + 1 for earlier, later in pairwise(self._numbers)):
            raise WrongAnswer("events came out of order, twice or not at all")


async def _measure(side: Stillhere, sockets: int, count: int) -> Found:
    quiet, *sessions = side.new_sessions(1 + WRITERS)
    idle = await listen(side.port, side.calls.key, side.calls.project_of(quiet), sockets, lambda _frame, _now: None)
    heard = [_Events() for _ in sessions]
    with closing(idle):
        writers = [await _listen(side, session, events) for session, events in zip(sessions, heard, strict=True)]
        await asyncio.sleep(HOLD_SECONDS)
        with without_gc(), closing([one for some in writers for one in some]):
            saved = await _save(side, sessions, count)
            await _until_heard(heard, count)
        still_open = sum(listener.open for listener in idle)
    for events in heard:
        events.check()
    took = [
        now - due for paced, events in zip(saved, heard, strict=True) for due, now in zip(paced.due, events.arrived, strict=False)
    ]
    ended = max(paced.due[-1] + paced.took[-1] for paced in saved)
    rate = count * WRITERS / (ended - min(paced.due[0] for paced in saved))
    return Found([seconds for paced in saved for seconds in paced.took], took, still_open, rate)


async def _listen(side: Stillhere, session: str, events: _Events) -> list[Listener]:
    return await listen(side.port, side.calls.key, side.calls.project_of(session), 1, events.hear)


async def _save(side: Stillhere, sessions: list[str], count: int) -> list[Paced]:
    """The writers take turns, so that the saves are spread evenly."""
    for_all = WRITERS / SAVES_A_SECOND
    begin = time.perf_counter() + 0.1
    starts = [begin + number / SAVES_A_SECOND for number in range(len(sessions))]
    return await asyncio.gather(
        *(
            save_paced(side.port, partial(side.save, session), first=first, every=for_all, count=count)
            for session, first in zip(sessions, starts, strict=True)
        )
    )


async def _until_heard(heard: list[_Events], count: int) -> None:
    """Waits until all events arrived, or for a while: those missing then count as lost."""
    deadline = time.perf_counter() + PATIENCE_SECONDS
    while any(len(events.arrived) < count for events in heard) and time.perf_counter() < deadline:
        await asyncio.sleep(0.05)
