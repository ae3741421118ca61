"""P1 to P3: a save's latency, saves a second, resumes a second, beside the yardsticks."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from benchmarks.http_client import Wire, per_second, without_gc
from benchmarks.plan import WARM_UP, Plan, in_turn
from benchmarks.sides import Lean, Side, Stillhere, Stock, shared
from benchmarks.table import FIRST, LATER, Row

WRITERS = 32
READERS = 8


def save_latency(plan: Plan) -> list[Row]:
    sides: tuple[Side, ...] = (shared(Stock), shared(Stillhere))
    found = in_turn(plan.rounds, {side.name: _latency(side, plan.requests) for side in sides})
    what = "save 1 message, 1 client"
    figures = (found["Stillhere"], found["A"], "A", "ms")
    return [Row("P1", what, *figures, limit, at_most=True, release=mark) for limit, mark in ((1.0, FIRST), (0.6, LATER))]


def saves_a_second(plan: Plan) -> list[Row]:
    measured: dict[str, Callable[[], float]] = {}
    sides: tuple[Side, ...] = (shared(Stock), shared(Stillhere))
    for side in sides:
        sources = [partial(side.save, session) for session in side.new_sessions(WRITERS)]
        measured[side.name] = _throughput(side, sources, plan.seconds)
    found = in_turn(plan.rounds, measured)
    what = f"saves a second, {WRITERS} clients on {WRITERS} sessions"
    figures = (found["Stillhere"], found["A"], "A", "/s")
    return [Row("P2", what, *figures, limit, at_most=False, release=mark) for limit, mark in ((3.0, FIRST), (6.0, LATER))]


def resumes_a_second(plan: Plan) -> list[Row]:
    measured: dict[str, Callable[[], float]] = {}
    sides: tuple[Side, ...] = (shared(Stock), shared(Stillhere), shared(Lean))
    for side in sides:
        sources = [partial(side.resume, session) for session in side.new_sessions(READERS, messages=plan.window)]
        measured[side.name] = _throughput(side, sources, plan.seconds)
    found = in_turn(plan.rounds, measured)
    what = f"resume of {plan.window} messages, {READERS} clients"
    triples = ((6.0, "A", FIRST), (0.6, "B", LATER))
    return [
        Row("P3", what, found["Stillhere"], found[name], name, "/s", limit, at_most=False, release=mark)
        for limit, name, mark in triples
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
