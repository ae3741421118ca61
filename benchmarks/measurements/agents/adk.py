"""Sessions of ADK in a project, through HTTP and clients/python, beside ADK's SQLite service in the same run.

Both are measured by `adk_times`, in ADK's own environment. Without that there are no rows."""

import json
import os
import subprocess
import sys

from benchmarks.support.beside_local import READ, WRITE
from benchmarks.support.sample_sizes import Plan
from benchmarks.support.servers import ROOT
from benchmarks.support.sides import Stillhere, filled, kept
from benchmarks.support.table import Row

PYTHON = ROOT / ".venv-adk/bin/python"
EVENTS = 200
LIMITS = {"append": WRITE, "append, with state of the user": WRITE}


def adk_sessions(plan: Plan) -> list[Row]:
    if not PYTHON.exists():
        print("ADK is left out: its environment is not there (scripts/install.sh adk).", file=sys.stderr)
        return []
    side = kept(Stillhere(filled("-m", "benchmarks.seeding.memory_seed", "bench", "1")))
    settings = {
        "STILLHERE_URL": f"http://127.0.0.1:{side.port}",
        "STILLHERE_KEY": side.calls.headers["Authorization"].removeprefix("Bearer "),
        "STILLHERE_PROJECT": "/bench/adk",
        "PYTHONPATH": f"{ROOT / 'clients/python/src'}{os.pathsep}{ROOT}",
    }
    command = [str(PYTHON), "-m", "benchmarks.measurements.agents.adk_times", str(max(20, min(EVENTS, plan.requests * 2)))]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | settings, stdout=subprocess.PIPE, check=True)  # noqa: S603
    figures: dict[str, list[float]] = json.loads(done.stdout)
    return [
        Row("ADK", f"ADK: {what}", ours, local, "local", "ms", LIMITS.get(what, READ), at_most=True)
        for what, (ours, local) in figures.items()
    ]
