"""P1 to P3, and P13 with stricter goals: latency of a save, saves per second, resumes per second, beside the yardsticks."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from benchmarks.support.http_client import Wire, per_second, without_gc
from benchmarks.support.sample_sizes import WARM_UP, Plan, in_turn
from benchmarks.support.sides import Lean, Side, Stillhere, Stock, shared
from benchmarks.support.table import Row

WRITERS = 32
READERS = 8


def save_latency(plan: Plan) -> list[Row]:
    sides: tuple[Side, ...] = (shared(Stock), shared(Stillhere))
    found = in_turn(plan.rounds, {side.name: _latency(side, plan.requests) for side in sides})
    what = "save 1 message, 1 client"
    figures = (found["Stillhere"], found["A"], "A", "ms")
    return [Row(name, what, *figures, limit, at_most=True) for name, limit in (("P1", 1.0), ("P13", 0.6))]


def saves_a_second(plan: Plan) -> list[Row]:
    measured: dict[str, Callable[[], float]] = {}
    sides: tuple[Side, ...] = (shared(Stock), shared(Stillhere))
    for side in sides:
        sources = [partial(side.save, session) for session in side.new_sessions(WRITERS)]
        measured[side.name] = _throughput(side, sources, plan.seconds)
    found = in_turn(plan.rounds, measured)
    what = f"saves a second, {WRITERS} clients on {WRITERS} sessions"
    figures = (found["Stillhere"], found["A"], "A", "/s")
    return [Row(name, what, *figures, limit, at_most=False) for name, limit in (("P2", 3.0), ("P13", 6.0))]


def resumes_a_second(plan: Plan) -> list[Row]:
    measured: dict[str, Callable[[], float]] = {}
    sides: tuple[Side, ...] = (shared(Stock), shared(Stillhere), shared(Lean))
    for side in sides:
        sources = [partial(side.resume, session) for session in side.new_sessions(READERS, messages=plan.window)]
        measured[side.name] = _throughput(side, sources, plan.seconds)
    found = in_turn(plan.rounds, measured)
    what = f"resume of {plan.window} messages, {READERS} clients"
    triples = (("P3", 6.0, "A"), ("P13", 0.6, "B"))
    return [
        Row(name, what, found["Stillhere"], found[beside], beside, "/s", limit, at_most=False) for name, limit, beside in triples
    ]


def _latency(side: Side, requests: int) -> Callable[[], float]:
    """Milliseconds, the median of a round."""
    [session] = side.new_sessions(1)
    wire = Wire(side.port)

    def measure() -> float:
        with without_gc():
            return median(wire.seconds(side.save(session)) for _ in range(requests)) * 1000

    for _ in range(WARM_UP):
        wire.send(side.save(session))
    return measure


def _throughput(side: Side, sources: Sequence[Callable[[], bytes]], seconds: float) -> Callable[[], float]:
    per_second(side.port, sources, min(0.5, seconds))
    return lambda: per_second(side.port, sources, seconds)
