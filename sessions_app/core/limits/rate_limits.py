"""Rate limits: how much one key (or one login) may request in a minute.

Each process counts on its own: a shared counter would put Redis into the path of every save.
With N workers a client whose connections spread evenly reaches up to N times the limit.
"""

import threading
import time
import uuid

from cachetools import TTLCache

from sessions_app.core.errors import TooMany
from sessions_app.models import Caller

SECONDS = 60
COUNTERS_KEPT = 100_000


class RateExceeded(TooMany):
    """429 with the counted unit, the limit, and when the next minute begins."""

    code = "rate_exceeded"

    def __init__(self, what: str, limit: int, seconds: int) -> None:
        super().__init__(
            f"This key may use {limit:,} {what} a minute. Wait {seconds} s, then send the same request again.",
            details={"counted": what, "limit": limit, "per_seconds": 60, "retry_after": seconds},
            retry_after=seconds,
        )


class _Minutes:
    """Usage in the current minute, by unit and caller: a fixed window that begins with the first request.

    Not the `limits` package: its memory storage starts a timer thread from the thread that counts, and fails when two
    threads do so at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent: TTLCache[tuple[str, uuid.UUID | int], list[float]] = TTLCache(COUNTERS_KEPT, SECONDS)

    def spend(self, name: tuple[str, uuid.UUID | int], cost: int, limit: int) -> int:
        """Returns 0 if it fits, else the seconds until the next minute begins."""
        now = time.monotonic()
        with self._lock:
            window = self._spent.get(name)
            if window is None:
                window = self._spent[name] = [now, 0]
            began, spent = window
            if spent and spent + cost > limit:
                return max(1, round(began + SECONDS - now))
            window[1] = spent + cost
        return 0

    def clear(self) -> None:
        with self._lock:
            self._spent.clear()


_minutes = _Minutes()


def spend(*, caller: Caller, what: str, limit: int, cost: int = 1) -> None:
    """Count `cost` against the caller's minute. Raises RateExceeded over `limit`; a limit of 0 means no limit.

    A single request that costs more than a whole minute's limit passes if nothing was spent before, so that no
    request is refused forever. What costs nothing passes too: the rest of an upload whose size was announced.
    """
    if not limit or not cost:
        return
    if seconds := _minutes.spend((what, caller.key_id or caller.user_id), cost, limit):
        raise RateExceeded(what, limit, seconds)


def forget() -> None:
    """Reset every window (tests)."""
    _minutes.clear()
