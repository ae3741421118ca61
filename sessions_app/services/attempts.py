"""How often somebody may guess: failures are counted by account and by address, for all processes where there is Redis.

While Redis does not answer, each process counts by itself: nobody is kept out, and nobody guesses freely.
"""

import logging
from collections.abc import Callable

from django.conf import settings
from django.core.cache import BaseCache, caches
from redis import RedisError

from sessions_app.errors import TooMany

logger = logging.getLogger(__name__)


class TooManyAttempts(TooMany):
    code, message = "too_many_attempts", "Too many failed sign-ins. Wait a few minutes, then try again."


def check_attempts(*, username: str, address: str) -> None:
    """Raises TooManyAttempts, whether or not the account exists."""
    counts = _counted(lambda counters: counters.get_many(_names(username, address)))
    if any(count >= settings.LOGIN_ATTEMPTS for count in counts.values()):
        raise TooManyAttempts(retry_after=settings.LOGIN_WINDOW_SECONDS)


def note_failure(*, username: str, address: str) -> None:
    def note(counters: BaseCache) -> None:
        for name in _names(username, address):
            counters.add(name, 0, settings.LOGIN_WINDOW_SECONDS)
            try:
                counters.incr(name)
            except ValueError:  # It ended between the two.
                counters.set(name, 1, settings.LOGIN_WINDOW_SECONDS)

    _counted(note)


def forget_failures(*, username: str) -> None:
    """Whoever signed in has shown who they are; their address may still be guessing at others."""
    _counted(lambda counters: counters.delete(_names(username, "")[0]))


def _counted[T](work: Callable[[BaseCache], T]) -> T:
    try:
        return work(caches["default"])
    except RedisError as error:
        logger.warning("failed sign-ins are counted by this process alone: %s", type(error).__name__)
        return work(caches["process"])


def _names(username: str, address: str) -> list[str]:
    # Hexadecimal: a cache's keys take neither spaces nor any length.
    return [f"login.account.{username.casefold()[:150].encode().hex()}", f"login.address.{address.encode().hex()}"]
