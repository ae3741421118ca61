"""`python -m benchmarks [--only P1,P3] [--quick] [--json FILE]`, or `--profile save|resume`."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.measurements.agents.adk import adk_sessions
from benchmarks.measurements.agents.conversations import conversations
from benchmarks.measurements.agents.graphs import graphs
from benchmarks.measurements.agents.mcp import mcp_calls
from benchmarks.measurements.agents.memory import context, entries, runs
from benchmarks.measurements.agents.pydantic_conversations import pydantic_conversations
from benchmarks.measurements.bulk_operations import exports, forks, imports
from benchmarks.measurements.events import events
from benchmarks.measurements.flat import flat_cost
from benchmarks.measurements.hostile import hostile_page, searches
from benchmarks.measurements.many_sockets import idle_sockets
from benchmarks.measurements.on_postgresql import on_postgresql
from benchmarks.measurements.pages import pages
from benchmarks.measurements.recorded_products import beside_recorded
from benchmarks.measurements.speed import resumes_a_second, save_latency, saves_a_second
from benchmarks.measurements.starting import start_and_memory
from benchmarks.measurements.storage import file_growth, many_at_once
from benchmarks.measurements.streams import streams
from benchmarks.support.sample_sizes import QUICK, Plan
from benchmarks.support.sides import serving
from benchmarks.support.table import Row, as_table, machine, summary

MEASUREMENTS: dict[str, Callable[[Plan], list[Row]]] = {
    "P1": save_latency,
    "P2": saves_a_second,
    "P3": resumes_a_second,
    "P4": flat_cost,
    "P5": beside_recorded,
    "P6": start_and_memory,
    "P7": events,
    "P14": on_postgresql,
    "P8": context,
    "P9": entries,
    "P16": mcp_calls,
    "RUNS": runs,
    "P15": graphs,
    "AGENTS": conversations,
    "PYDANTIC": pydantic_conversations,
    "ADK": adk_sessions,
    "P10": pages,
    "P11B": file_growth,
    "P11C": many_at_once,
    "P12": idle_sockets,
    "P17": streams,
    "G1": imports,
    "G2": forks,
    "G3": exports,
    "SEARCH": searches,
    "P18": hostile_page,
}

LEGEND = (
    "A: plain Django + Ninja; B: raw SQL, no framework; neither checks a key. Medians, sides in turn.\n"
    "On PostgreSQL A has a pool. "
    "goal: the longest allowed time, through HTTP and with 20 projects of 10 MB of memory in the store."
)


def main() -> None:
    options = _options()
    if options.profile:
        from benchmarks.support.profiling import profile

        profile(options.profile)
        return
    plan = QUICK if options.quick else Plan()
    if options.many:
        plan = replace(plan, many=options.many)
    print(machine(), flush=True)
    rows: list[Row] = []
    with serving:
        for name in options.only:
            print(f"{name} …", file=sys.stderr, flush=True)
            began = time.monotonic()
            rows += MEASUREMENTS[name](plan)
            print(f"{name} took {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(as_table(rows))
    print(LEGEND)
    print(summary(rows))
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "rows": [row.as_json() for row in rows]}, indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Stillhere's speed beside yardsticks.")
    parser.add_argument("--only", type=_names, default=list(MEASUREMENTS), help="some of " + ",".join(MEASUREMENTS))
    parser.add_argument("--quick", action="store_true", help="few and short rounds, to check that the benchmarks run")
    parser.add_argument("--many", type=int, help="what P4 calls many (100,000)")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--profile", choices=("save", "resume"), help="show where the time of one kind of request goes")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.upper().split(",")
    if unknown := set(names) - set(MEASUREMENTS):
        raise argparse.ArgumentTypeError(f"there is no {', '.join(sorted(unknown))}")
    return names


if __name__ == "__main__":
    main()
