"""Tests that run beside each other start their servers on ports of their own."""

import subprocess
import sys

from tests.support.server_process import ROOT, free_port

SOME = range(31_000, 31_100)
OTHERS = f"""
from tests.support.server_process import free_port
print(*(free_port(range({SOME.start}, {SOME.stop})) for _ in range(30)))
"""


def test_another_process_does_not_get_a_port_that_is_kept() -> None:
    ours = {free_port(SOME) for _ in range(30)}
    theirs = subprocess.run([sys.executable, "-c", OTHERS], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert len(ours) == 30
    assert ours.isdisjoint(map(int, theirs.split()))
