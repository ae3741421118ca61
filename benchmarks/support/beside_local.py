"""Asynchronous acts of two sides, timed in turn."""

import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Any

from benchmarks.support.http_client import without_gc
from benchmarks.support.table import Row

# Ours may take so many times the local one's time.
WRITE, READ = 3, 5
type Act = Callable[[int], Awaitable[Any]]


async def timed_row(id: str, what: str, ours: Act, local: Act, count: int, limit: float) -> Row:
    """The medians of both."""
    took: list[list[float]] = [[], []]
    with without_gc():
        for number in range(count):
            for times, act in zip(took, (ours, local), strict=True):
                began = time.perf_counter()
                await act(number)
                times.append((time.perf_counter() - began) * 1000)
    return Row(id, what, median(took[0]), median(took[1]), "local", "ms", limit, at_most=True)
