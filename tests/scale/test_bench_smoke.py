"""Does the bench still run against the product as it is? How fast anything is, is not judged here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.scale
@pytest.mark.once
@pytest.mark.timeout(300)
def test_every_row_comes_out_with_figures(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--many", "300", "--json", str(figures)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = json.loads(figures.read_text())["rows"]
    assert {row["id"] for row in rows} == {"P1", "P2", "P3", "P4", "P8", "P9", "RUNS"}
    assert all(row["ours"] > 0 and row["beside"] > 0 for row in rows)
    assert all(row["what"] in done.stdout for row in rows)
