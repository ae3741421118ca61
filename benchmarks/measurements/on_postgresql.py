"""P11 and P14: saves and reads on PostgreSQL and Redis with one and two workers, beside plain Django with PostgreSQL's pool."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median

from benchmarks.measurements.speed import READERS, WRITERS
from benchmarks.support import postgresql
from benchmarks.support.http_client import per_second
from benchmarks.support.sample_sizes import Plan, in_turn
from benchmarks.support.sides import PooledStock, Side, StillhereOnPostgresql, shared
from benchmarks.support.table import Row

AS_FAST = 0.9
Sources = Sequence[Callable[[], bytes]]


def one_worker() -> StillhereOnPostgresql:
    return StillhereOnPostgresql(workers=1)


def two_workers() -> StillhereOnPostgresql:
    return StillhereOnPostgresql(workers=2)


def on_postgresql(plan: Plan) -> list[Row]:
    if why := postgresql.missing():
        print(f"P11 and P14 are left out: {why}", file=sys.stderr)
        return []
    stock, one, two = shared(PooledStock), shared(one_worker), shared(two_workers)
    sides: list[Side] = [stock, one, two]
    writing = {side.name: [partial(side.save, session) for session in side.new_sessions(WRITERS)] for side in sides}
    saves = _in_turn(plan, sides, writing)
    what = f"PostgreSQL, saves a second, {WRITERS} clients"
    rows = [*_beside_a("P14", what, saves, one, two, 2.0), *_first_seconds(plan, two, writing[two.name], saves, what)]
    filled = {side.name: side.new_sessions(READERS, messages=plan.window) for side in sides}
    reading = {side.name: [partial(side.resume, session) for session in filled[side.name]] for side in sides}
    what = f"PostgreSQL, resumes of {plan.window} messages a second, {READERS} clients"
    return rows + _beside_a("P11", what, _in_turn(plan, sides, reading), one, two, 4.0)


def _in_turn(plan: Plan, sides: list[Side], sources: Mapping[str, Sources]) -> dict[str, float]:
    for side in sides:
        per_second(side.port, sources[side.name], min(0.5, plan.seconds))
    return in_turn(plan.rounds, {side.name: partial(per_second, side.port, sources[side.name], plan.seconds) for side in sides})


def _beside_a(name: str, what: str, found: dict[str, float], one: Side, two: Side, goal: float) -> list[Row]:
    rows = [
        Row(name, f"{what}, {side.name}", found[side.name], found["A"], "A", "/s", goal, at_most=False) for side in (one, two)
    ]
    return [
        *rows,
        Row(name, f"{what}, 2 workers beside 1", found[two.name], found[one.name], "1 worker", "/s", 1.5, at_most=False),
    ]


def _first_seconds(plan: Plan, side: StillhereOnPostgresql, sources: Sources, found: dict[str, float], what: str) -> list[Row]:
    """All clients connect at once as soon as a restarted server responds."""
    first, later = list[float](), list[float]()
    for _ in range(plan.starts):
        side.server.stop()
        side.server.start()
        first.append(per_second(side.port, sources, plan.first_seconds))
        later.append(per_second(side.port, sources, plan.first_seconds))
    what = f"{what}, {side.name}, first {plan.first_seconds:g} s after the start"
    return [
        Row("P14", what, median(first), found["A"], "A", "/s", 2.0, at_most=False),
        Row("P14", f"{what}, beside later", median(first), median(later), "later", "/s", AS_FAST, at_most=False),
    ]
