"""Speed of Stillhere, compared with yardsticks that run at the same time on the same machine: `python -m benchmarks`."""
