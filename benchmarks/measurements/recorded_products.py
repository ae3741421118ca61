"""P5: a save into a session of 2,000 messages, beside recorded figures of products that are too large to install here.

Those figures (one client, messages of 1 KB, a machine of two cores, 2026-11-21) were not taken in this run: the ratio informs.
"""

from statistics import median

from benchmarks.support.http_client import Wire, without_gc
from benchmarks.support.sample_sizes import WARM_UP, Plan
from benchmarks.support.sides import Stillhere, shared
from benchmarks.support.table import Row

MESSAGES = 2_000
# Milliseconds per save, and the goal: how many times as many saves per second.
RECORDED = {"Open WebUI 0.12.4 (delta)": (80, 40), "Google ADK 2.13": (140, 40), "LangGraph dev": (43, 20)}


def beside_recorded(plan: Plan) -> list[Row]:
    side = shared(Stillhere)
    [session] = side.new_sessions(1, messages=MESSAGES // plan.fewer)
    wire = Wire(side.port)
    for _ in range(WARM_UP):
        wire.send(side.save(session))
    with without_gc():
        took = median(wire.seconds(side.save(session)) for _ in range(plan.requests))
    wire.close()
    what = f"saves a second at {MESSAGES // plan.fewer:,} messages, 1 client, beside the record of {{}}"
    return [
        Row("P5", what.format(name), 1 / took, 1_000 / recorded, "recorded", "/s", times, at_most=False)
        for name, (recorded, times) in RECORDED.items()
    ]
