"""Latencies of several requests on one connection, in turn, so that the machine's load affects all of them alike."""

from collections.abc import Callable, Sequence
from statistics import median

from benchmarks.support.http_client import Wire, without_gc
from benchmarks.support.sample_sizes import WARM_UP, Plan


def median_ms(
    port: int, sources: Sequence[Callable[[], bytes]], plan: Plan, *, check: Callable[[bytes], None] = lambda _answer: None
) -> list[float]:
    """The median of each source's requests, in milliseconds. `check` sees the warm-up's answers."""
    wire = Wire(port)
    took: list[list[float]] = [[] for _ in sources]
    for source in [*sources] * min(WARM_UP, plan.requests):
        check(wire.send(source()))
    with without_gc():
        for _ in range(plan.requests):
            for source, times in zip(sources, took, strict=True):
                times.append(wire.seconds(source()) * 1000)
    wire.close()
    return [median(times) for times in took]
