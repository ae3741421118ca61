"""Limits in seconds are for one machine that does nothing else. Another one, or a moment with other work, is allowed more."""

import json
import re
import time
from collections.abc import Sequence
from statistics import quantiles

_DOCUMENT = {"messages": [{"id": f"m{number}", "text": "word " * 20, "parts": [{"n": number / 3}]} for number in range(60)]}
_PAIR = re.compile(r"(\w+) (\w+)")
_REFERENCE_SECONDS = 0.0066
_TRIES = 8


def _work() -> float:
    """Seconds of a fixed piece of what a server does all day."""
    begun = time.perf_counter()
    for _ in range(10):
        text = json.dumps(_DOCUMENT)
        _PAIR.sub(r"\2 \1", text)
        for message in json.loads(text)["messages"]:
            sum(map(ord, message["text"]))
    return time.perf_counter() - begun


def allowed(limit: float) -> float:
    """`limit`, in any unit of time, at the speed of this machine now. Never less than `limit`.

    Call it after what it is for: the machine may have become slow meanwhile.
    """
    # The median: a machine that is shared is slow in most tries, one short interruption is not its speed.
    tries = sorted(_work() for _ in range(_TRIES))
    return limit * max(1.0, tries[_TRIES // 2] / _REFERENCE_SECONDS)


def percentile_99(took: Sequence[float]) -> float:
    """Of what was measured, never more than the greatest: the usual method goes beyond it where there are few."""
    return quantiles(took, n=100, method="inclusive")[98]
