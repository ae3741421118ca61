"""`python -m benchmarks [--only P1,P3] [--quick] [--json FILE]`, or `--profile save|resume`."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.flat import flat_cost
from benchmarks.memory import context, entries, runs
from benchmarks.plan import QUICK, Plan
from benchmarks.sides import serving
from benchmarks.speed import resumes_a_second, save_latency, saves_a_second
from benchmarks.table import Row, as_table, machine, summary

MEASUREMENTS: dict[str, Callable[[Plan], list[Row]]] = {
    "P1": save_latency,
    "P2": saves_a_second,
    "P3": resumes_a_second,
    "P4": flat_cost,
    "P8": context,
    "P9": entries,
    "RUNS": runs,
}

LEGEND = (
    "A: plain Django + Ninja; B: raw SQL, no framework; neither checks a key. ● first release, ○ later. Medians, sides in turn.\n"
    "goal: so long may it take, through HTTP and with 20 projects of 10 MB of memory in the store."
)


def main() -> None:
    options = _options()
    if options.profile:
        from benchmarks.profiling import profile

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
            rows += MEASUREMENTS[name](plan)
    print(as_table(rows))
    print(LEGEND)
    print(summary(rows))
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "rows": [row.as_json() for row in rows]}, indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Stillhere's speed beside yardsticks.")
    parser.add_argument("--only", type=_names, default=list(MEASUREMENTS), help="some of " + ",".join(MEASUREMENTS))
    parser.add_argument("--quick", action="store_true", help="few and short rounds: do the figures come out at all?")
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
