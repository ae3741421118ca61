"""How much is measured, and how two sides take turns."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Plan:
    """`rounds` of each side, in turn; a round is `requests` one after another, or `seconds` of many clients."""

    rounds: int = 7
    requests: int = 100
    seconds: float = 1.5
    many: int = 100_000
    window: int = 200
    # With 10 MB of memory each.
    projects: int = 20
    # Repetitions after a start.
    first_seconds: float = 4.0
    starts: int = 3
    # Idle ones, and the seconds of saves beside them.
    sockets: int = 5_000
    paced_seconds: float = 15.0
    # Divides the numbers that the goals name.
    fewer: int = 1


QUICK = Plan(
    rounds=2, requests=5, seconds=0.5, many=1_000, window=20, projects=1, first_seconds=0.5, starts=1,
    sockets=50, paced_seconds=0.5, fewer=50,
)  # fmt: skip
# Not counted: the first requests load modules, open connections and fill caches.
WARM_UP = 30


def in_turn(rounds: int, sides: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The median of each side, measured A, B, A, B, …, so that other load of the machine affects all sides equally."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, measure in sides.items():
            found[name].append(measure())
    return {name: median(values) for name, values in found.items()}
