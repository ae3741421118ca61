"""How fast Stillhere is, beside yardsticks that run at the same time on the same machine: `python -m benchmarks`."""
