"""P6: time until `make serve` responds, and the server's memory after the start and after many saves."""

import shutil
import time
from functools import partial
from statistics import median

from benchmarks.measurements.speed import WRITERS
from benchmarks.support import servers
from benchmarks.support.http_client import per_second
from benchmarks.support.sample_sizes import Plan
from benchmarks.support.sides import Stillhere, collected
from benchmarks.support.sockets import resident_kb
from benchmarks.support.table import Row

START_MS, MEMORY_MB, MOST_GROWTH = 1_500, 120, 1.15
SAVING_SECONDS = 10.0


def start_and_memory(plan: Plan) -> list[Row]:
    took = _start_ms(plan.starts)
    with Stillhere(collected(), STATIC_MANIFEST="1") as side:
        fresh = resident_kb(side.server.pid) / 1_000
        saves = _save(side, plan)
        used = resident_kb(side.server.pid) / 1_000
    return [
        Row("P6", "make serve, until it answers", took, START_MS, "goal", "ms", 1.0, at_most=True),
        Row("P6", "memory after the start", fresh, MEMORY_MB, "goal", "MB", 1.0, at_most=True),
        Row("P6", f"memory after {saves:,} saves", used, fresh, "start", "MB", MOST_GROWTH, at_most=True),
    ]


def _start_ms(starts: int) -> float:
    """The median; tables and static files exist already, as at every start after the first."""
    took = []
    with servers.made() as server:
        shutil.copytree(collected().folder, server.folder, dirs_exist_ok=True)
        for _ in range(starts):
            began = time.perf_counter()
            server.start()
            took.append((time.perf_counter() - began) * 1000)
            server.stop()
    return median(took)


def _save(side: Stillhere, plan: Plan) -> int:
    sources = [partial(side.save, session) for session in side.new_sessions(WRITERS)]
    saved, seconds = 0, min(SAVING_SECONDS, plan.seconds * 5)
    while saved < plan.many:
        saved += round(per_second(side.port, sources, seconds) * seconds)
    return saved
