"""Speed of Stillhere, compared with yardsticks that run at the same time on the same machine: `python -m benchmarks`."""

import sys
from pathlib import Path

# The client as it is in this tree.
sys.path.append(str(Path(__file__).resolve().parents[1] / "clients/python/src"))
