"""How often somebody may guess: failures are counted by account and by address, in the cache."""

from django.conf import settings
from django.core.cache import cache

from sessions_app.errors import TooMany


class TooManyAttempts(TooMany):
    code, message = "too_many_attempts", "Too many failed sign-ins. Wait a few minutes, then try again."


def check_attempts(*, username: str, address: str) -> None:
    """Raises TooManyAttempts, whether or not the account exists."""
    counts = cache.get_many(_names(username, address))
    if any(count >= settings.LOGIN_ATTEMPTS for count in counts.values()):
        raise TooManyAttempts(retry_after=settings.LOGIN_WINDOW_SECONDS)


def note_failure(*, username: str, address: str) -> None:
    for name in _names(username, address):
        cache.add(name, 0, settings.LOGIN_WINDOW_SECONDS)
        try:
            cache.incr(name)
        except ValueError:  # It ended between the two.
            cache.set(name, 1, settings.LOGIN_WINDOW_SECONDS)


def forget_failures(*, username: str) -> None:
    """Whoever signed in has shown who they are; their address may still be guessing at others."""
    cache.delete(_names(username, "")[0])


def _names(username: str, address: str) -> list[str]:
    # Hexadecimal: a cache's keys take neither spaces nor any length.
    return [f"login.account.{username.casefold()[:150].encode().hex()}", f"login.address.{address.encode().hex()}"]
