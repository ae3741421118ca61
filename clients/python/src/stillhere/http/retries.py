"""When a request is sent again, and after which pause."""

import logging
import math
import random
import ssl
import time
from email.utils import parsedate_to_datetime

import httpx

from stillhere.errors import NoAnswer
from stillhere.http.answers import Answer

# Refused without being done: any request may be sent again.
_NOT_DONE = {429, 503}
# Not known to be done: only what may be done twice.
_UNKNOWN = {408, 500, 502, 504}
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0
# More overflows where it is waited for.
MOST_NAMED_SECONDS = 86_400.0
# A server that starts again is away for a moment; who waits longer is told why.
TOLD_AFTER_SECONDS = 2.0
_log = logging.getLogger(__name__)


class Attempts:
    """The attempts of one request. `repeatable`: doing it twice is the same as once. `url`: the server, for the error."""

    def __init__(self, seconds: float, *, repeatable: bool, url: str) -> None:
        self._url = url
        self._told_at = time.monotonic() + TOLD_AFTER_SECONDS
        self._ends_at = time.monotonic() + seconds
        self._repeatable = repeatable
        self._failed = 0

    def pause_after_error(self, error: httpx.TransportError) -> float:
        """Seconds. Raises NoAnswer if there is to be no other attempt."""
        pause = self._next_pause(0)
        is_final = isinstance(error.__cause__, ssl.SSLCertVerificationError)  # It is refused the next time too.
        if pause is None or is_final or not (self._repeatable or isinstance(error, _NOT_SENT)):
            raise NoAnswer(error, self._url) from error
        if time.monotonic() >= self._told_at:
            self._told_at = math.inf
            why = NoAnswer(error, self._url).message
            _log.warning("%s. It is tried again for %.0f s.", why, self._ends_at - time.monotonic())
        return pause

    def pause_after(self, answer: Answer) -> float | None:
        """Seconds; None: this is the answer."""
        again = answer.status in _NOT_DONE or (answer.status in _UNKNOWN and self._repeatable)
        return self._next_pause(retry_after(answer) or 0) if again else None

    def _next_pause(self, least: float) -> float | None:
        longest = min(FIRST_PAUSE_SECONDS * 2**self._failed, LONGEST_PAUSE_SECONDS)
        self._failed += 1
        pause = max(least, longest * random.uniform(0.5, 1))  # noqa: S311 - no secret
        return pause if time.monotonic() + pause <= self._ends_at else None


def retry_after(answer: Answer) -> float | None:
    """Seconds, from a number of them or a date. None for what is neither."""
    named = answer.headers.get("retry-after", "")
    try:
        seconds = float(named)
    except ValueError:
        at, now = _time_of(named), _time_of(answer.headers.get("date", ""))  # By the server's clock: ours may be another.
        if at is None:
            return None
        seconds = at - (time.time() if now is None else now)
    return min(seconds, MOST_NAMED_SECONDS) if 0 <= seconds < math.inf else None


def _time_of(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None
