"""The benchmarks run against the present product. Their figures are not judged here."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 600


# Rows that start one server each: they represent all in the suite.
SOME = {"P1", "P8"}
SPEED = {"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11b", "P11c", "P12", "P13", "P17", "P18"}
ALL = SPEED | {"RUNS", "P15", "AGENTS", "PYDANTIC", "G1", "G2", "G3", "S6", "G4"}


@pytest.mark.slow
@pytest.mark.scale
@pytest.mark.once
@pytest.mark.timeout(SECONDS + 30)
@pytest.mark.parametrize("only", [SOME, pytest.param(set(), marks=pytest.mark.prove)], ids=["some", "all"])
def test_every_row_comes_out_with_figures(tmp_path: Path, only: set[str]) -> None:
    figures = tmp_path / "figures.json"
    chosen = ["--only", ",".join(sorted(only))] if only else []
    command = [sys.executable, "-m", "benchmarks", "--quick", "--many", "300", *chosen, "--json", str(figures)]
    status, output, errors = _run(command)
    assert status == 0, errors
    rows = json.loads(figures.read_text())["rows"]
    on_postgresql = set() if only or "P11 and P14 are left out" in errors else {"P11", "P14"}
    assert {row["id"] for row in rows} >= (only or ALL | on_postgresql)
    # A few sockets may find room in memory that the server has already.
    assert all((row["ours"] > 0 or row["unit"] == "KB") and row["beside"] > 0 for row in rows)
    assert all(row["what"] in output for row in rows)


@pytest.mark.scale
@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 30)
@pytest.mark.parametrize("kind", ["save", "resume"])
def test_a_profile_says_where_the_time_goes(kind: str) -> None:
    status, output, errors = _run([sys.executable, "-m", "benchmarks", "--profile", kind])
    assert status == 0, errors
    assert "tottime" in output
    assert f"{kind}: " in output.splitlines()[-1]


def _run(command: list[str]) -> tuple[int, str, str]:
    """Its status and what it said. Its servers end with it, also when it takes too long."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as bench:
        try:
            output, errors = bench.communicate(timeout=SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(bench.pid, signal.SIGKILL)
    return bench.returncode, output, errors
