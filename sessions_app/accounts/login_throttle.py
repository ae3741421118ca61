"""Rate limit of sign-ins: failures are counted by account and by address, across processes if Redis is configured.

While Redis is unavailable, each process counts by itself: sign-in still works and is still limited.
"""

import logging
import unicodedata
from collections.abc import Callable

from django.conf import settings
from django.core.cache import BaseCache, caches
from django.core.cache.backends.redis import RedisCache

from sessions_app.core.errors import TooMany
from sessions_app.core.text import sha256
from sessions_app.core.web.client_address import network_of

# The form refuses a longer name before it looks at the password.
LONGEST_NAME = 150
logger = logging.getLogger(__name__)


class TooManyAttempts(TooMany):
    code, message = "too_many_attempts", "Too many wrong passwords. Wait a few minutes, then try again."


def check_login_allowed(*, username: str, address: str) -> None:
    """Raises TooManyAttempts, whether or not the account exists."""
    counts = _counted(lambda counters: counters.get_many(_names(username, address)))
    if any(count >= settings.LOGIN_ATTEMPTS for count in counts.values()):
        raise TooManyAttempts(retry_after=settings.LOGIN_WINDOW_SECONDS)


def count_failed_login(*, username: str, address: str) -> None:
    def note(counters: BaseCache) -> None:
        for name in _names(username, address):
            counters.add(name, 0, settings.LOGIN_WINDOW_SECONDS)
            try:
                counters.incr(name)
            except ValueError:  # The counter expired between the two calls.
                counters.set(name, 1, settings.LOGIN_WINDOW_SECONDS)

    _counted(note)


def reset_failed_logins(*, username: str) -> None:
    """Resets the account's counter after a sign-in, but not the address's: it may still be guessing other passwords."""
    _counted(lambda counters: counters.delete(_names(username, "")[0]))


def _counted[T](work: Callable[[BaseCache], T]) -> T:
    if not isinstance(caches["default"], RedisCache):
        return work(caches["logins"])
    from redis import RedisError  # Costs 24 MB: imported only where Redis is configured.

    try:
        return work(caches["default"])
    except RedisError as error:
        logger.warning("failed sign-ins are counted by this process alone: %s", type(error).__name__)
        return work(caches["logins"])


def _names(username: str, address: str) -> list[str]:
    """The account as the form reads its name, so that no other spelling of it is a count of its own."""
    account = unicodedata.normalize("NFKC", username.strip()[:LONGEST_NAME]).casefold()
    # Hashed: cache keys allow no spaces and have a maximum length.
    return [f"login.account.{sha256(account)}", f"login.address.{sha256(network_of(address))}"]
