"""Durations counted in buckets whose bounds grow by a constant factor.

A percentile read from it is at most 1 % off (below 0.1 ms: at most 0.1 ms), however many samples there were, and two
histograms add up to the histogram of both. It holds at most about a thousand pairs of numbers, mostly some ten.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import orjson

from memory_app.models.performance import SHORTEST_MS

RELATIVE_ERROR = 0.01
LONGEST_MS = 86_400_000.0
_GROWTH = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GROWTH = math.log(_GROWTH)
LAST_BUCKET = math.ceil(math.log(LONGEST_MS / SHORTEST_MS) / _LOG_GROWTH)


@dataclass(slots=True)
class Histogram:
    buckets: Counter[int] = field(default_factory=Counter)
    total_ms: float = 0.0
    min_ms: float = math.inf
    max_ms: float = 0.0

    @property
    def count(self) -> int:
        return self.buckets.total()

    def add(self, duration_ms: float) -> None:
        self.buckets[_bucket(duration_ms)] += 1
        self.total_ms += duration_ms
        self.min_ms, self.max_ms = min(self.min_ms, duration_ms), max(self.max_ms, duration_ms)

    def merge(self, other: "Histogram") -> None:
        self.buckets.update(other.buckets)
        self.total_ms += other.total_ms
        self.min_ms, self.max_ms = min(self.min_ms, other.min_ms), max(self.max_ms, other.max_ms)

    def percentile(self, percent: int) -> float:
        """The smallest duration that at least `percent` % of the samples do not exceed (nearest rank)."""
        left = math.ceil(self.count * percent / 100)
        for bucket in sorted(self.buckets):
            left -= self.buckets[bucket]
            if left <= 0:
                return min(max(_middle(bucket), self.min_ms), self.max_ms)
        raise ValueError("no samples")

    def pairs(self) -> list[list[int]]:
        return [[bucket, self.buckets[bucket]] for bucket in sorted(self.buckets)]


def read_histogram(pairs: str, *, total_ms: float, min_ms: float, max_ms: float) -> Histogram:
    """Returns an empty one if the pairs are damaged: counting starts again."""
    try:
        return Histogram(read_pairs(orjson.loads(pairs)), total_ms, min_ms, max_ms)
    except ValueError:
        return Histogram()


def read_pairs(value: Any) -> Counter[int]:
    """Parses untrusted pairs. Raises ValueError."""
    pairs = value if isinstance(value, list) else [value]
    buckets: Counter[int] = Counter()
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(type(number) is int for number in pair):
            raise ValueError("no pairs of numbers")
        bucket, count = pair
        if not 0 <= bucket <= LAST_BUCKET or not 0 < count < 2**31:
            raise ValueError("no bucket and count")
        buckets[bucket] += count
    if not buckets:
        raise ValueError("no samples")
    return buckets


def _bucket(duration_ms: float) -> int:
    """Number 0 for all that is shorter than SHORTEST_MS."""
    return 0 if duration_ms <= SHORTEST_MS else math.ceil(math.log(duration_ms / SHORTEST_MS) / _LOG_GROWTH)


def _middle(bucket: int) -> float:
    """The geometric mean of the bucket's bounds."""
    return 0.0 if bucket == 0 else SHORTEST_MS * 2 * math.pow(_GROWTH, bucket) / (_GROWTH + 1)
